// Package memcached is the service of a memcached server: a private instance, or a server that
// you provide.
package memcached

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Settings are the settings of the server.
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
		Candidates: candidates(),
		Needs:      "memcached",
		Name:       "memcached",
		Doc:        "memcached, started for the study, or a server you provide",
		Speaks:     []string{"memcached"},
		Metrics:    statistics.Metrics(),
	}, defaults(), build)
}

// mostChunk is memcached's default slab_chunk_max. It refuses to start if the largest item is
// smaller.
const mostChunk parameter.Bytes = 512 << 10

// chunk is slab_chunk_max. It must divide the largest item and a slab page of 1 MiB.
func (s Settings) chunk() parameter.Bytes { return min(s.MaxItem, mostChunk) }

func build(s Settings) (service.Service, error) {
	if s.Memory%(1<<20) != 0 {
		return nil, fmt.Errorf("memory: %s is not a whole number of MiB", s.Memory)
	}
	if s.MaxItem > s.Memory/2 {
		return nil, fmt.Errorf("max_item: %s is more than half of the memory, %s", s.MaxItem, s.Memory)
	}
	if s.MaxItem%s.chunk() != 0 || s.MaxItem < mostChunk && s.MaxItem&(s.MaxItem-1) != 0 {
		return nil, fmt.Errorf("max_item: memcached does not support %s: below %s it must be a power of two, such as 64KiB, and above a multiple of %s", s.MaxItem, mostChunk, mostChunk)
	}
	at, err := service.Provided(s.Address, s, defaults())
	if at == nil || err != nil {
		return s.private(), err
	}
	at.Program, at.Version = "memcached", version
	at.Live = func(m platform.Machine, at load.Endpoint) service.Live { return newClient(m, at).live() }
	return at, nil
}

func (s Settings) private() service.Private {
	return service.Private{
		Find: find, Needs: service.Needs{Time: time.Second}, Ports: 1,
		Daemon: func(_ context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			argv := []string{
				found.Name, "-l", place.Host, "-p", strconv.Itoa(place.Ports[0]), "-U", "0",
				"-t", strconv.Itoa(s.Threads), "-m", strconv.FormatInt(int64(s.Memory)>>20, 10),
				"-c", strconv.Itoa(s.Connections), "-I", strconv.FormatInt(int64(s.MaxItem), 10),
				"-o", "slab_chunk_max=" + strconv.FormatInt(int64(s.chunk()), 10),
			}
			if place.Root {
				argv = append(argv, "-u", "root") // as root, it requires -u
			}
			c := newClient(env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0)})
			return service.Daemon{Argv: argv, Ready: func(ctx context.Context) (service.Live, error) { return c.ready(ctx, place.Dir) }}, nil
		},
	}
}

func find(ctx context.Context, m platform.Machine) (service.Found, error) {
	found, err := service.Program{
		Names: []string{"memcached"}, Version: []string{"--version"},
		Install: "apt install memcached (or dnf install memcached)",
	}.Find(ctx, m)
	if err == nil && !found.AtLeast("1.5") {
		err = fmt.Errorf("memcached %s is too old: version 1.5 or newer is required", found.Version)
	}
	return found, err
}

// ready also verifies that it is our server, by its working folder: another one may have taken
// the port.
func (c client) ready(ctx context.Context, dir string) (service.Live, error) {
	stats, err := c.stats(ctx, "")
	if err != nil {
		return service.Live{}, err
	}
	at, err := c.folder(ctx, path.Join("/proc", stats["pid"], "cwd"))
	if err != nil {
		return service.Live{}, err
	}
	own, err := c.folder(ctx, dir)
	if err != nil {
		return service.Live{}, err
	}
	if at == "" || at != own {
		return service.Live{}, errors.New("another server answers on its port")
	}
	return c.live(), nil
}

// folder resolves links on the machine; empty on failure.
func (c client) folder(ctx context.Context, name string) (string, error) {
	r, err := c.Machine.Run(ctx, platform.Command{Argv: []string{"readlink", "-e", "--", name}})
	if err != nil {
		return "", fmt.Errorf("find the process that answers: %w", err)
	}
	return string(r.Stdout), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{"memcached": c.Endpoint}, Observe: c.observe, Count: c.count}
}

// version is the version of a server that you provide.
func version(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
	stats, err := newClient(m, at).stats(ctx, "")
	return cmp.Or(stats["version"], "unknown"), err
}
