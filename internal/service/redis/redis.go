// Package redis is the service of a Redis server, or of Valkey, its free
// successor: a private instance, or one that already runs.
package redis

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// Settings are what a study may say about the server. Those that Redis has carry
// its names, with an underscore for each hyphen.
type Settings struct {
	Address         string          `name:"address" doc:"address of a server you provide, host:port or the path of a Unix socket; empty starts one"`
	MaxMemory       parameter.Bytes `name:"maxmemory" doc:"memory limit for data; 0B is no limit"`
	MaxMemoryPolicy string          `name:"maxmemory_policy" doc:"eviction policy" choices:"noeviction,allkeys-lru,allkeys-lfu,allkeys-random,volatile-lru,volatile-lfu,volatile-random,volatile-ttl"`
	IOThreads       int             `name:"io_threads" doc:"I/O threads" min:"1" max:"128"`
	AppendOnly      bool            `name:"appendonly" doc:"append-only file"`
	AppendFsync     string          `name:"appendfsync" doc:"fsync policy of the append-only file" choices:"always,everysec,no"`
	Save            string          `name:"save" doc:"snapshot points, pairs of seconds and changes such as 3600 1 300 100; empty disables snapshots"`
	Hz              int             `name:"hz" doc:"frequency of background tasks per second" min:"1" max:"500"`
}

func defaults() Settings {
	return Settings{MaxMemoryPolicy: "noeviction", IOThreads: 1, AppendFsync: "everysec", Hz: 10}
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Needs:   "Redis",
		Name:    "redis",
		Doc:     "Redis or Valkey, started for the study, or a server you provide",
		Speaks:  []string{"redis"},
		Metrics: metrics(),
	}, defaults(), build)
}

func metrics() []measure.Metric {
	list := []measure.Metric{{Name: "redis.cpu", Unit: "1", Doc: "CPUs used by the server"}}
	for _, c := range counters {
		list = append(list, c.metric)
	}
	return list
}

func build(s Settings) (service.Service, error) {
	words := strings.Fields(s.Save)
	for _, word := range words {
		if n, err := strconv.Atoi(word); err != nil || n < 1 {
			return nil, fmt.Errorf("save: %q is no pair of seconds and changes, like 3600 1", s.Save)
		}
	}
	if len(words)%2 != 0 {
		return nil, fmt.Errorf("save: %q is no pair of seconds and changes, like 3600 1", s.Save)
	}
	s.Save = strings.Join(words, " ")
	if s.Address == "" {
		return &private{s}, nil
	}
	e, err := service.ParseAddress(s.Address)
	if err != nil {
		return nil, err
	}
	if err := service.Free(s, defaults()); err != nil {
		return nil, err
	}
	return &foreign{e}, nil
}

// program is looked for under both names. Valkey takes the same settings.
func program() service.Program {
	return service.Program{
		Names: []string{"redis-server", "valkey-server"}, Version: []string{"--version"},
		Install: "apt install redis-server (or dnf install valkey)",
	}
}

// private is a server that plimsoll starts.
type private struct{ settings Settings }

// Check looks for the program.
func (p *private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	found, err := p.find(ctx, env)
	if err != nil {
		return service.Needs{}, err
	}
	return service.Needs{Time: time.Second, Versions: map[string]string{path.Base(found.Name): found.Version}}, nil
}

func (p *private) find(ctx context.Context, env service.Env) (service.Found, error) {
	found, err := program().Find(ctx, env.Machine)
	if err != nil {
		return found, err
	}
	if p.settings.IOThreads > 1 && !found.AtLeast("6.0") {
		return found, fmt.Errorf("%s %s has no io_threads: version 6.0 or newer is needed", path.Base(found.Name), found.Version)
	}
	return found, nil
}

// Start starts the server on a free port.
func (p *private) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	found, err := p.find(ctx, env)
	if err != nil {
		return nil, err
	}
	return service.Started(service.Launch(ctx, env, service.Recipe{
		Name: path.Base(found.Name), Ports: 1, Ordinary: true,
		Daemon: func(place service.Place) (service.Daemon, error) {
			file := path.Join(place.Dir, configName)
			c := client{env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0)}}
			return service.Daemon{
				Argv:  []string{found.Name, file},
				Files: service.Files(configName, p.config(found, place)),
				Ready: func(ctx context.Context) (service.Live, error) { return c.ready(ctx, file) },
			}, nil
		},
	}))
}

const configName = "redis.conf"

func (p *private) config(found service.Found, place service.Place) []byte {
	s := p.settings
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s %v\n", name, value) }
	set("bind", place.Host)
	set("port", place.Ports[0])
	if place.Host != service.Loopback {
		set("protected-mode", "no") // clients come from other machines, and there is no password
	}
	set("daemonize", "no")
	set("dir", strconv.Quote(place.Dir))
	set("maxmemory", int64(s.MaxMemory))
	set("maxmemory-policy", s.MaxMemoryPolicy)
	set("appendonly", map[bool]string{true: "yes", false: "no"}[s.AppendOnly])
	set("appendfsync", s.AppendFsync)
	set("save", strconv.Quote(s.Save))
	set("hz", s.Hz)
	set("dynamic-hz", "no") // so that hz is what it says
	if found.AtLeast("6.0") {
		set("io-threads", s.IOThreads)
	}
	if found.AtLeast("6.2") {
		set("set-proc-title", "no") // the title would overwrite the mark by which plimsoll finds its processes
	}
	return []byte(b.String())
}

// ready also looks that it is our server that answers: another one may have
// taken the port.
func (c client) ready(ctx context.Context, file string) (service.Live, error) {
	info, err := c.info(ctx)
	if err != nil {
		return service.Live{}, err
	}
	if info["config_file"] != file {
		return service.Live{}, errors.New("another server answers on its port")
	}
	return c.live(), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{"redis": c.endpoint}, Observe: c.observe, Count: c.count}
}

// foreign is a server that already runs.
type foreign struct{ at load.Endpoint }

// Check asks the server for its version.
func (f *foreign) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	info, err := client{env.Machine, f.at}.info(ctx)
	if err != nil {
		return service.Needs{}, err
	}
	if info["redis_version"] == "" {
		return service.Needs{}, fmt.Errorf("what listens at %s does not say that it is Redis or Valkey", f.at.Address)
	}
	return service.Needs{Versions: map[string]string{"redis": info["redis_version"]}}, nil
}

// Start looks that the server answers.
func (f *foreign) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if _, err := f.Check(ctx, env); err != nil {
		return nil, err
	}
	c := client{env.Machine, f.at}
	live := c.live()
	live.Observe = func(ctx context.Context) (map[string]string, error) {
		observed, err := c.observe(ctx)
		if err == nil {
			observed["address"] = f.at.Address
		}
		return observed, err
	}
	return service.Use(live), nil
}
