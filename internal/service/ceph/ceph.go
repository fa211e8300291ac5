// Package ceph is the service of a Ceph cluster for block storage: a private monitor and private BlueStore OSDs on sparse files, or a
// cluster that you provide.
package ceph

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
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
		Spreads: true,
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
	p, err := s.policy(1)
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
	return owned{s, p}, nil
}

// owned is a private cluster.
type owned struct {
	settings Settings
	policy   policy
}

// Varies implements service.Varying: a load damages it.
func (o owned) Varies() bool { return slices.Contains(ending, o.settings.Fault) }

// Check looks at all machines of the cluster.
func (o owned) Check(ctx context.Context, env service.Env) (needs service.Needs, err error) {
	if err := o.settings.spreads(1 + len(env.Peers)); err != nil {
		return needs, err
	}
	l := o.launch(env)
	for machine, at := range l.environments(env) {
		if long := socketOf(at.Dir, "osd.99"); len(long) > longestSocket {
			return needs, fmt.Errorf("%s is too long for a Unix socket: take a shorter folder (--out)", long)
		}
		one, err := l.private(machine).Check(ctx, at)
		if err != nil && len(env.Peers) > 0 {
			err = fmt.Errorf("machine %s: %w", at.Machine.Name(), err)
		}
		if err != nil {
			return needs, err
		}
		if machine == 0 {
			needs = one
		}
	}
	return needs, nil
}

// Start starts the daemons of the first machine, and then those of the others.
func (o owned) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if err := o.settings.spreads(1 + len(env.Peers)); err != nil {
		return nil, err
	}
	l := o.launch(env)
	first, err := l.private(0).Start(ctx, env)
	if err != nil || len(env.Peers) == 0 {
		return first, err
	}
	return l.spread(ctx, env, first.(*service.Running))
}

// ownMemory is what an OSD takes beside its cache when it does little.
const ownMemory = 300 << 20

// memory is what so many OSDs take.
func (s Settings) memory(osds int) parameter.Bytes {
	return parameter.Bytes(osds) * (s.Cache + ownMemory)
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

// fits finds a machine that is too small for so many OSDs.
func (s Settings) fits(ctx context.Context, m platform.Machine, osds int) error {
	if err := s.fitsNetwork(ctx, m); err != nil {
		return err
	}
	need := s.memory(osds)
	if have := service.Memory(ctx, m); have > 0 && need > have/10*9 {
		return fmt.Errorf("%d OSDs with a cache of %s take about %s, but this host has %s: lower osds or cache", osds, s.Cache, need.About(), have.About())
	}
	return nil
}

// socketOf is the admin socket of a daemon, such as osd.0.
func socketOf(dir, daemon string) string { return path.Join(dir, daemon+".asok") }

// longestSocket is the longest path of a Unix socket, in bytes.
const longestSocket = 107
