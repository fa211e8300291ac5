// Package spark is the service of Apache Spark: a private standalone cluster of a master and workers on one machine, or a
// master that you provide.
package spark

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	engine "plimsoll/internal/spark"
)

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Needs:   "PySpark and Java",
		Name:    "spark",
		Doc:     "Apache Spark, a standalone cluster started for the study, or a master you provide",
		Speaks:  []string{engine.Protocol},
		Metrics: metrics(),
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if s.Memory%(1<<20) != 0 {
		return nil, fmt.Errorf("memory %s: must be whole MiB", s.Memory)
	}
	s.Address = strings.TrimPrefix(s.Address, "spark://")
	at, err := service.Provided(s.Address, s, defaults(), "web")
	switch {
	case err != nil:
		return nil, err
	case at == nil && s.Web != "":
		return nil, errors.New("web requires address: it is for a master you provide")
	case at == nil:
		return s.private(), nil
	case at.Endpoint.Network != "tcp":
		return nil, fmt.Errorf("address %s: must be host:port", s.Address)
	}
	if web, err := service.ParseAddress(s.Web); err != nil || web.Network != "tcp" {
		return nil, fmt.Errorf("web %q: must be host:port, the address of the master's web interface, such as %s", s.Web, net.JoinHostPort(strings.Split(s.Address, ":")[0], "8080"))
	}
	at.Endpoint.URL = "http://" + s.Web
	at.Program, at.Version, at.Live = "spark", version, provided
	return at, nil
}

// web is the address of the web interface of an endpoint.
func web(at load.Endpoint) string { return strings.TrimPrefix(at.URL, "http://") }

// through dials from a machine.
func through(m platform.Machine) engine.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return service.Dial(ctx, m, load.Endpoint{Network: network, Address: address})
	}
}

// version is that of a master you provide, which must have a worker.
func version(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
	s, err := engine.Ask(ctx, through(m), web(at))
	if err != nil {
		return "", err
	}
	if want := "spark://" + at.Address; s.URL != want {
		return "", fmt.Errorf("the master at %s has the address %s, not %s: correct address or web", web(at), s.URL, want)
	}
	if len(s.Alive()) == 0 {
		return "", fmt.Errorf("the master at %s has no worker: start one, or omit address to start a cluster", at.Address)
	}
	v, err := engine.Version(ctx, through(m), web(at))
	if err == nil && v != "" && !strings.HasPrefix(v, engine.Series) {
		err = fmt.Errorf("the master at %s is Spark %s, but plimsoll drives %sx: provide another, or omit address to start one", at.Address, v, engine.Series)
	}
	return v, err
}

func provided(m platform.Machine, at load.Endpoint) service.Live {
	return cluster{machine: m, at: at}.live()
}

// private is a cluster that plimsoll starts. It is ready when all its workers have registered.
func (s Settings) private() service.Service {
	return private{service.Private{
		Program: "spark", Find: s.find, Fits: s.fits, Ports: 2,
		Needs: service.Needs{Disk: 400 << 20, Memory: s.memory(), Time: 10 * time.Second},
		Daemon: func(ctx context.Context, env service.Env, _ service.Found, place service.Location) (service.Daemon, error) {
			installed, err := engine.Find(ctx, env.Machine, s.Home, s.Java)
			if err == nil {
				err = bring(ctx, env.Machine, installed.Folder, place.Dir)
			}
			return s.daemon(env.Machine, place, installed.Java), err
		},
	}, s}
}

// find finds PySpark and Java.
func (s Settings) find(ctx context.Context, m platform.Machine) (service.Found, error) {
	i, err := engine.Find(ctx, m, s.Home, s.Java)
	return service.Found{Name: i.Java, Version: i.JavaVersion}, err
}

// private adds the version of Spark to the needs.
type private struct {
	service.Private
	settings Settings
}

// Check finds the programs, and checks the requirements.
func (p private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	needs, err := p.Private.Check(ctx, env)
	if err != nil {
		return needs, err
	}
	i, err := engine.Find(ctx, env.Machine, p.settings.Home, p.settings.Java)
	needs.Versions["spark"] = i.Version
	return needs, err
}

// bring has the jars below the folder of the instance, where its account can read them: as hard links, or copied to another
// file system.
func bring(ctx context.Context, m platform.Machine, from, dir string) error {
	const script = `[ -d "$2/home/jars" ] && exit
mkdir -p -- "$2/home" || exit
cp -rlL -- "$1/jars" "$2/home/jars" 2>/dev/null || { rm -rf -- "$2/home/jars" && cp -rL -- "$1/jars" "$2/home/jars" && chmod -R a+rX -- "$2/home"; }`
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", script, "sh", from, dir}})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("copy the jars of Spark: %w", err)
	}
	return nil
}
