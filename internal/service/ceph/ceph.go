// Package ceph is the service of a Ceph cluster for block storage: a private monitor and private BlueStore OSDs on sparse files, or a
// cluster that you provide.
package ceph

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/counter"
)

// protocol is the protocol of the service: an endpoint has the path of a ceph.conf as its address and a pool as its database.
const protocol = "rbd"

// Settings are the settings of the cluster. Redundancy, compression and checksum are those of the pool that holds the data.
type Settings struct {
	Address     string             `name:"address" doc:"path of the ceph.conf of a cluster you provide; empty starts one"`
	Pool        string             `name:"pool" doc:"pool of a cluster you provide, in which images are made and removed; needs address"`
	OSDs        int                `name:"osds" doc:"number of OSDs" min:"1" max:"32"`
	Size        parameter.Bytes    `name:"size" doc:"size of each OSD, a sparse file" min:"1GiB"`
	Redundancy  string             `name:"redundancy" doc:"replica:N for N copies, or ec:K+M for K data and M coding chunks, each on an OSD of its own"`
	Compression string             `name:"compression" doc:"compression of data" choices:"none,lz4,snappy,zlib,zstd"`
	Checksum    string             `name:"checksum" doc:"checksum of data; none does not detect corruption" choices:"none,crc32c,crc32c_16,crc32c_8,xxhash32,xxhash64" unsafe:"none"`
	Cache       parameter.Bytes    `name:"cache" doc:"BlueStore cache of each OSD" min:"16MiB"`
	Network     string             `name:"network" doc:"network between OSDs: the loopback of the host, or a router between namespaces, one for each OSD, which requires root" choices:"host,namespaces"`
	Bandwidth   parameter.Bytes    `name:"network_rate" doc:"bytes per second of the link of each OSD in each direction, in namespaces; 0B is no limit"`
	Latency     parameter.Duration `name:"network_latency" doc:"latency between OSDs in namespaces, one way" max:"1s"`
	Sites       int                `name:"sites" doc:"number of sites, of which each has half of the OSDs and of the copies; clients are on the first" min:"1" max:"2"`
	SiteLatency parameter.Duration `name:"site_latency" doc:"latency between two sites in namespaces, one way, in addition to network_latency" max:"1s"`
	Fault       string             `name:"fault" doc:"fault of the last OSD in the middle of each load; all but kill take fault_time" choices:"none,kill,pause,restart,lose,drain"`
	FaultTime   parameter.Duration `name:"fault_time" doc:"duration of a pause, time until a restart or until a lost OSD is marked out, or time that a drained OSD is away" min:"100ms" max:"10m"`
}

func defaults() Settings {
	return Settings{OSDs: 4, Size: 8 << 30, Redundancy: "replica:2", Compression: "none", Checksum: "crc32c", Cache: 64 << 20, Network: hostNetwork, Sites: 1, Fault: noFault, FaultTime: parameter.Duration(5 * time.Second)}
}

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Needs:   "Ceph",
		Name:    "ceph",
		Doc:     "Ceph cluster for block storage, started for the study, or a cluster you provide",
		Speaks:  []string{protocol},
		Adapts:  adapts,
		Release: releaseLinks,
		Metrics: counter.Metrics(),
		Ratios:  counter.Ratios(),
		Drained: counter.Drained(),
		Derived: append(counter.PartMetrics(), counter.ClientMetric()),
		Derive:  counter.Derive,
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if at, err := s.provided(); at != nil || err != nil {
		return at, err
	}
	p, err := s.policy()
	if err != nil {
		return nil, err
	}
	r := p.redundancy
	if n := r.chunks(); n > s.OSDs {
		return nil, fmt.Errorf("redundancy %s requires %d OSDs, each for one part, and osds is %d", s.Redundancy, n, s.OSDs)
	}
	if err := s.bears(r); err != nil {
		return nil, err
	}
	if err := errors.Join(s.stretched(r), s.separated()); err != nil {
		return nil, err
	}
	return fresh{s.private(p), slices.Contains(ending, s.Fault)}, nil
}

// fresh is a service that is started again for each trial if a load damages it.
type fresh struct {
	service.Private
	damaged bool
}

// Varies implements service.Varying.
func (f fresh) Varies() bool { return f.damaged }

// Check also finds folders that are too long for the sockets of the daemons.
func (f fresh) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	if long := socketOf(env.Dir, "osd.99"); len(long) > longestSocket {
		return service.Needs{}, fmt.Errorf("%s is too long for a Unix socket: take a shorter folder (--out)", long)
	}
	return f.Private.Check(ctx, env)
}

// ownMemory is what an OSD takes beside its cache when it does little.
const ownMemory = 300 << 20

// memory is what all OSDs take.
func (s Settings) memory() parameter.Bytes { return parameter.Bytes(s.OSDs) * (s.Cache + ownMemory) }

func (s Settings) private(p policy) service.Private {
	return service.Private{
		Program: "ceph", Find: findAll, Fits: s.fits, Ports: 2, Root: s.Network == namespaces,
		Needs: service.Needs{
			Changes: s.changes(), Disk: int64(s.OSDs) * (64 << 20), Memory: int64(s.memory()), Time: 5*time.Second + time.Duration(s.OSDs)*500*time.Millisecond,
			Copies: p.redundancy.amplification(), Capacity: int64(s.raw()), Store: p.name(),
		},
		Daemon: func(ctx context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			return s.daemon(ctx, env, place, p)
		},
	}
}

// findAll finds all programs of Ceph that a private cluster uses, and returns that of the OSDs.
func findAll(ctx context.Context, m platform.Machine) (service.Found, error) {
	return find(ctx, m, "ceph-mon", "monmaptool", "rbd", "ceph", "ceph-osd")
}

// find finds programs of Ceph, and returns the last one.
func find(ctx context.Context, m platform.Machine, names ...string) (found service.Found, err error) {
	const install = "apt install ceph-mon ceph-osd ceph-common ceph-base (or dnf install ceph-mon ceph-osd ceph-common)"
	for _, name := range names {
		if found, err = (service.Program{Names: []string{name}, Version: []string{"--version"}, Install: install}).Find(ctx, m); err != nil {
			return found, err
		}
	}
	return found, nil
}

func (s Settings) fits(ctx context.Context, m platform.Machine) error {
	if err := s.fitsNetwork(ctx, m); err != nil {
		return err
	}
	need := s.memory()
	if have := service.Memory(ctx, m); have > 0 && need > have/10*9 {
		return fmt.Errorf("%d OSDs with a cache of %s take about %s, but this host has %s: lower osds or cache", s.OSDs, s.Cache, need.About(), have.About())
	}
	return nil
}

// socketOf is the admin socket of a daemon, such as osd.0.
func socketOf(dir, daemon string) string { return path.Join(dir, daemon+".asok") }

// longestSocket is the longest path of a Unix socket, in bytes.
const longestSocket = 107

func (s Settings) daemon(ctx context.Context, env service.Env, place service.Location, p policy) (service.Daemon, error) {
	network, err := s.network(ctx, env, &place)
	if err != nil {
		return service.Daemon{}, err
	}
	text := s.conf(place)
	c := &cluster{daemons: network.daemons, network: network, monitor: monitor{env.Machine, path.Join(place.Dir, confFile)}, text: text, policy: p}
	c.health.Errors = map[int]float64{} // none of a new cluster
	files := service.Join(service.Files("start.sh", []byte(starter)), service.Files(confFile, text), service.Files(p.confFile(), p.conf(text)), service.Files("commands", []byte(lines(p.commands()))), network.files, s.siteFiles())
	return service.Daemon{
		Argv:  append([]string{"sh", path.Join(place.Dir, "start.sh"), place.Dir, strconv.Itoa(s.OSDs), place.Host, strconv.Itoa(place.Ports[0]), strconv.Itoa(place.Ports[1])}, network.arguments...),
		Files: files,
		Ready: func(ctx context.Context) (service.Live, error) {
			if err := c.daemons.ready(ctx); err != nil {
				return service.Live{}, err
			}
			all, err := c.daemons.space(ctx)
			if err != nil {
				return service.Live{}, err
			}
			c.space.turn(p.name(), all)
			capacity, err := c.capacity(ctx, s, p)
			return service.Live{
				Endpoints: c.endpoints(p, capacity), Adapt: c.adapt,
				Observe: c.observe, Count: c.countPrivate, Unsettled: c.daemons.unsettled, Trouble: c.trouble,
				Pending: s.pending(), Disturb: s.disturber(c),
			}, err
		},
	}, nil
}
