package ceph

import (
	"context"
	"fmt"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/admin"
)

// launch is a private cluster that starts.
type launch struct {
	settings Settings
	policy   policy
	fsid     string
	uuids    []string         // of the OSDs
	monitor  service.Location // once it is known
	cluster  *cluster
}

func (o owned) launch(env service.Env) *launch {
	l := &launch{settings: o.settings, policy: o.policy, fsid: uuid()}
	for range l.settings.OSDs {
		l.uuids = append(l.uuids, uuid())
	}
	l.policy.machines = 1 + len(env.Peers)
	return l
}

// environments are those of all machines.
func (l *launch) environments(env service.Env) iter.Seq2[int, service.Env] {
	return func(yield func(int, service.Env) bool) {
		if !yield(0, env) {
			return
		}
		for i, p := range env.Peers {
			if !yield(1+i, env.At(p)) {
				return
			}
		}
	}
}

// private are the daemons of a machine: the monitor is on the first.
func (l *launch) private(machine int) service.Private {
	s, osds, ports := l.settings, 0, 0
	if machine == 0 {
		ports = 2 // of the monitor
	}
	for n := range s.OSDs {
		if machineOf(n, s.OSDs, l.policy.machines) == machine {
			osds++
		}
	}
	return service.Private{
		Program: "ceph", Find: findAll, Ports: ports, Root: s.Network == namespaces,
		Fits: func(ctx context.Context, m platform.Machine) error { return s.fits(ctx, m, osds) },
		Needs: service.Needs{
			Changes: s.changes(), Disk: int64(osds) * (64 << 20), Memory: int64(s.memory(osds)), Time: 5*time.Second + time.Duration(osds)*500*time.Millisecond,
			Copies: l.policy.redundancy.amplification(), Capacity: int64(s.raw()), Store: l.policy.name(),
		},
		Daemon: func(ctx context.Context, env service.Env, _ service.Found, at service.Location) (service.Daemon, error) {
			if machine > 0 {
				return l.others(at, machine), nil
			}
			return l.first(ctx, env, at)
		},
	}
}

// first are the monitor and the OSDs of the first machine.
func (l *launch) first(ctx context.Context, env service.Env, at service.Location) (service.Daemon, error) {
	s, p := l.settings, l.policy
	network, err := s.network(ctx, env, &at)
	if err != nil {
		return service.Daemon{}, err
	}
	l.monitor = at
	text := l.conf(at, 0)
	c := &cluster{daemons: network.daemons, network: network, monitor: admin.Monitor{Machine: env.Machine, Conf: path.Join(at.Dir, confFile)}, text: text, policy: p}
	c.health.Errors = map[int]float64{} // none of a new cluster
	c.reachable = env.Host != "" && env.Host != service.Loopback
	l.cluster = c
	files := service.Join(l.files(at, 0), service.Files(p.confFile(), p.conf(text)), service.Files("commands", []byte(admin.Lines(append(l.additions(), p.commands()...)))), network.files, s.siteFiles())
	return service.Daemon{
		Argv:  append([]string{"sh", path.Join(at.Dir, "start.sh"), at.Dir, at.Host, strconv.Itoa(at.Ports[0]), strconv.Itoa(at.Ports[1])}, network.arguments...),
		Files: files,
		Ready: func(ctx context.Context) (service.Live, error) {
			live := service.Live{
				Endpoints: c.endpoints(p, 0), Adapt: c.adapt,
				Observe: c.observe, Count: c.countPrivate, Unsettled: c.daemons.unsettled, Trouble: c.trouble,
				Pending: s.pending(), Disturb: s.disturber(c),
			}
			if len(env.Peers) > 0 {
				return live, c.daemons.active(ctx, 0)
			}
			at, err := c.opened(ctx, s, p)
			live.Endpoints = at
			return live, err
		},
	}, nil
}

// opened is where clients find the pool of a new cluster, once it serves.
func (c *cluster) opened(ctx context.Context, s Settings, p policy) (map[string]load.Endpoint, error) {
	if err := c.daemons.ready(ctx); err != nil {
		return nil, err
	}
	all, err := c.daemons.space(ctx)
	if err != nil {
		return nil, err
	}
	c.space.turn(p.name(), all)
	capacity, err := c.capacity(ctx, s, p)
	return c.endpoints(p, capacity), err
}

// others are the OSDs of another machine.
func (l *launch) others(at service.Location, machine int) service.Daemon {
	return service.Daemon{
		Argv:  []string{"sh", path.Join(at.Dir, "start.sh"), at.Dir},
		Files: l.files(at, machine),
		Ready: func(ctx context.Context) (service.Live, error) {
			return service.Live{}, l.cluster.daemons.active(ctx, machine)
		},
	}
}

// files are those that a machine needs: one of them lists its OSDs.
func (l *launch) files(at service.Location, machine int) iter.Seq2[string, []byte] {
	var osds strings.Builder
	for n, id := range l.uuids {
		if machineOf(n, l.settings.OSDs, l.policy.machines) == machine {
			fmt.Fprintf(&osds, "%d %s\n", n, id)
		}
	}
	return service.Join(service.Files("start.sh", []byte(starter)), service.Files(confFile, l.conf(at, machine)), service.Files("osds", []byte(osds.String())))
}

// additions are the commands that add the OSDs to the cluster.
func (l *launch) additions() (all []string) {
	for n, id := range l.uuids {
		all = append(all, fmt.Sprintf("osd new %s %d", id, n))
	}
	return all
}
