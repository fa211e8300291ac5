// Package redis is the service of a Redis server, or of Valkey, its free
// successor: a private instance, or one that already runs.
package redis

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// Settings are the settings of the server. Those of Redis keep their names, with an
// underscore for each hyphen.
type Settings struct {
	Address         string          `name:"address" doc:"address of a server you provide, host:port or the path of a Unix socket; empty starts one"`
	MaxMemory       parameter.Bytes `name:"maxmemory" doc:"memory limit for data; 0B is no limit"`
	MaxMemoryPolicy string          `name:"maxmemory_policy" doc:"eviction policy" choices:"noeviction,allkeys-lru,allkeys-lfu,allkeys-random,volatile-lru,volatile-lfu,volatile-random,volatile-ttl" unsafe:"!noeviction"`
	IOThreads       int             `name:"io_threads" doc:"I/O threads" min:"1" max:"128"`
	AppendOnly      bool            `name:"appendonly" doc:"append-only file; off, a crash loses what changed since the last snapshot" unsafe:"false"`
	AppendFsync     string          `name:"appendfsync" doc:"fsync policy of the append-only file; with everysec and no a crash can lose the last writes" choices:"always,everysec,no" unsafe:"everysec,no"`
	Save            string          `name:"save" doc:"snapshot points, pairs of seconds and changes such as 3600 1 300 100; empty disables snapshots"`
	Hz              int             `name:"hz" doc:"frequency of background tasks per second" min:"1" max:"500"`
}

func defaults() Settings {
	return Settings{MaxMemoryPolicy: "noeviction", IOThreads: 1, AppendFsync: "everysec", Hz: 10}
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Candidates: candidates(),
		Needs:      "Redis",
		Name:       "redis",
		Doc:        "Redis or Valkey, started for the study, or a server you provide",
		Speaks:     []string{"redis"},
		Metrics:    statistics.Metrics(),
		Events:     events,
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	words := strings.Fields(s.Save)
	bad := func(word string) bool {
		n, err := strconv.Atoi(word)
		return err != nil || n < 1
	}
	if len(words)%2 != 0 || slices.ContainsFunc(words, bad) {
		return nil, fmt.Errorf("save: %q is not pairs of seconds and changes, like 3600 1", s.Save)
	}
	s.Save = strings.Join(words, " ")
	at, err := service.Provided(s.Address, s, defaults())
	if at == nil || err != nil {
		return s.private(), err
	}
	at.Program, at.Version = "redis", version
	at.Live = func(m platform.Machine, at load.Endpoint) service.Live { return newClient(m, at).live() }
	return at, nil
}

func (s Settings) private() service.Private {
	return service.Private{
		Find: s.find, Needs: service.Needs{Time: time.Second}, Ports: 1,
		Daemon: func(_ context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			file := path.Join(place.Dir, configName)
			c := newClient(env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0)})
			return service.Daemon{
				Argv:  []string{found.Name, file},
				Files: service.Files(configName, s.config(found, place)),
				Ready: func(ctx context.Context) (service.Live, error) { return c.ready(ctx, file) },
			}, nil
		},
	}
}

// find finds the program under both names. Valkey has the same settings.
func (s Settings) find(ctx context.Context, m platform.Machine) (service.Found, error) {
	found, err := service.Program{
		Names: []string{"redis-server", "valkey-server"}, Version: []string{"--version"},
		Install: "apt install redis-server (or dnf install valkey)",
	}.Find(ctx, m)
	if err == nil && s.IOThreads > 1 && !found.AtLeast("6.0") {
		err = fmt.Errorf("%s %s has no io_threads: version 6.0 or newer is required", path.Base(found.Name), found.Version)
	}
	return found, err
}

const configName = "redis.conf"

func (s Settings) config(found service.Found, place service.Location) []byte {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s %v\n", name, value) }
	set("bind", place.Host)
	set("port", place.Ports[0])
	if place.Host != service.Loopback {
		set("protected-mode", "no") // clients are on other machines, and there is no password
	}
	set("daemonize", "no")
	set("dir", strconv.Quote(place.Dir))
	set("maxmemory", int64(s.MaxMemory))
	set("maxmemory-policy", s.MaxMemoryPolicy)
	set("appendonly", map[bool]string{true: "yes", false: "no"}[s.AppendOnly])
	set("appendfsync", s.AppendFsync)
	set("save", strconv.Quote(s.Save))
	set("hz", s.Hz)
	set("dynamic-hz", "no") // so that hz is constant
	if found.AtLeast("6.0") {
		set("io-threads", s.IOThreads)
	}
	if found.AtLeast("6.2") {
		set("set-proc-title", "no") // the title would overwrite the mark by which plimsoll finds its processes
	}
	return []byte(b.String())
}

// ready also checks that our server responds: another one may have taken the port.
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
	return service.Live{Endpoints: map[string]load.Endpoint{"redis": c.Endpoint}, Observe: c.observe, Count: c.count}
}

// version is the version of a server that already runs.
func version(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
	info, err := newClient(m, at).info(ctx)
	if err == nil && info["redis_version"] == "" {
		err = fmt.Errorf("the server at %s is not Redis or Valkey", at.Address)
	}
	return info["redis_version"], err
}
