// Package memcached is the service of a memcached server: a private instance, or
// one that already runs.
package memcached

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Settings are what a study may say about the server.
type Settings struct {
	Address     string          `name:"address" doc:"address of a server you provide, host:port or the path of a Unix socket; empty starts one"`
	Threads     int             `name:"threads" doc:"worker threads" min:"1" max:"128"`
	Memory      parameter.Bytes `name:"memory" doc:"memory limit for items, in whole MiB" min:"8MiB" max:"1TiB"`
	Connections int             `name:"connections" doc:"maximum client connections" min:"1" max:"1000000"`
	MaxItem     parameter.Bytes `name:"max_item" doc:"maximum item size, key included; a power of two below 512KiB, else a multiple of 512KiB" min:"1KiB" max:"1GiB"`
}

func defaults() Settings {
	return Settings{Threads: 4, Memory: 64 << 20, Connections: 1024, MaxItem: 1 << 20}
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Needs:   "memcached",
		Name:    "memcached",
		Doc:     "memcached, started for the study, or a server you provide",
		Speaks:  []string{"memcached"},
		Metrics: metrics(),
	}, defaults(), build)
}

// mostChunk is how much of a value memcached keeps in one piece where it is not told
// otherwise, and refuses to start where no value may be as large.
const mostChunk parameter.Bytes = 512 << 10

// chunk is the largest piece of a value. It has to divide the largest value and a
// page of 1 MiB.
func (s Settings) chunk() parameter.Bytes { return min(s.MaxItem, mostChunk) }

func metrics() []measure.Metric {
	list := []measure.Metric{{Name: "memcached.cpu", Unit: "1", Doc: "CPUs used by the server"}}
	for _, c := range counters {
		list = append(list, c.metric)
	}
	return list
}

func build(s Settings) (service.Service, error) {
	if s.Memory%(1<<20) != 0 {
		return nil, fmt.Errorf("memory: %s is not a whole number of MiB", s.Memory)
	}
	if s.MaxItem > s.Memory/2 {
		return nil, fmt.Errorf("max_item: %s is more than half of the memory, %s", s.MaxItem, s.Memory)
	}
	if s.MaxItem%s.chunk() != 0 || s.MaxItem < mostChunk && s.MaxItem&(s.MaxItem-1) != 0 {
		return nil, fmt.Errorf("max_item: memcached has no room for %s: below %s take a power of two, such as 64KiB, and above a multiple of %s", s.MaxItem, mostChunk, mostChunk)
	}
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

// private is a server that plimsoll starts.
type private struct{ settings Settings }

func find(ctx context.Context, m platform.Machine) (service.Found, error) {
	found, err := service.Program{
		Names: []string{"memcached"}, Version: []string{"--version"},
		Install: "apt install memcached (or dnf install memcached)",
	}.Find(ctx, m)
	if err == nil && !found.AtLeast("1.5") {
		err = fmt.Errorf("memcached %s is too old: version 1.5 or newer is needed", found.Version)
	}
	return found, err
}

// Check looks for the program.
func (p *private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	found, err := find(ctx, env.Machine)
	if err != nil {
		return service.Needs{}, err
	}
	return service.Needs{Time: time.Second, Versions: map[string]string{"memcached": found.Version}}, nil
}

// Start starts the server on a free port.
func (p *private) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	found, err := find(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	s := p.settings
	return service.Started(service.Launch(ctx, env, service.Recipe{
		Name: "memcached", Ports: 1, Ordinary: true,
		Daemon: func(place service.Place) (service.Daemon, error) {
			argv := []string{
				found.Name, "-l", place.Host, "-p", strconv.Itoa(place.Ports[0]), "-U", "0",
				"-t", strconv.Itoa(s.Threads), "-m", strconv.FormatInt(int64(s.Memory)>>20, 10),
				"-c", strconv.Itoa(s.Connections), "-I", strconv.FormatInt(int64(s.MaxItem), 10),
				"-o", "slab_chunk_max=" + strconv.FormatInt(int64(s.chunk()), 10),
			}
			if place.Root {
				argv = append(argv, "-u", "root") // it refuses to be root unless told so
			}
			c := client{env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0)}}
			return service.Daemon{Argv: argv, Ready: func(ctx context.Context) (service.Live, error) { return c.ready(ctx, place.Dir) }}, nil
		},
	}))
}

// ready also looks that it is our server that answers, by the folder that it works in:
// another one may have taken the port.
func (c client) ready(ctx context.Context, dir string) (service.Live, error) {
	stats, err := c.stats(ctx, "")
	if err != nil {
		return service.Live{}, err
	}
	at, err := c.machine.Run(ctx, platform.Command{Argv: []string{"readlink", "-e", "--", path.Join("/proc", stats["pid"], "cwd")}})
	if err != nil {
		return service.Live{}, fmt.Errorf("look who answers: %w", err)
	}
	own, err := c.machine.Run(ctx, platform.Command{Argv: []string{"readlink", "-e", "--", dir}})
	if err != nil {
		return service.Live{}, fmt.Errorf("look who answers: %w", err)
	}
	if at.Exit != 0 || string(at.Stdout) != string(own.Stdout) {
		return service.Live{}, errors.New("another server answers on its port")
	}
	return c.live(), nil
}

// foreign is a server that already runs.
type foreign struct{ at load.Endpoint }

// Check asks the server for its version.
func (f *foreign) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	stats, err := client{env.Machine, f.at}.stats(ctx, "")
	if err != nil {
		return service.Needs{}, err
	}
	return service.Needs{Versions: map[string]string{"memcached": stats["version"]}}, nil
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
