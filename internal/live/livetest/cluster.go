// Package livetest is a live cluster in memory that can misbehave, and the conformance suite
// of all implementations of live clusters.
package livetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
)

// Cluster is a live cluster in memory. Its methods are actions of others, and faults. They can
// be called at any time, also by the hooks of moves.
type Cluster struct {
	mu      sync.Mutex
	now     *cluster.Cluster // never changed, only replaced
	shown   *cluster.Cluster // state that sources report: the last before the control plane was lost
	vms     []entity         // by VMID
	created int
	events  []live.Event
	version int
	changed chan struct{} // closed by the next change

	lost   bool
	muted  bool
	hidden []live.Event // events while the control plane is lost
	denied map[live.Action][]string
	moving map[string]bool // identifiers of VMs
	hooks  Hooks
	// settings are the topologies of VMs that were changed, by identifier.
	settings map[string]topology.Setting
	fixed    map[string]string // why topologies are never changed, by identifier of the VM
	account  string
}

// entity is a platform's identity of a VM.
type entity struct{ id, name string }

// Hooks are called without a lock by each move, with the names in the model.
type Hooks struct {
	// Before is called during the migration: it may wait until the context ends, as a slow
	// migration does. Its error is the error of the move, and the VM stays.
	Before func(ctx context.Context, vm, to string) error
	// After is called once the VM is on its new host. Its error is the error of the move,
	// which the cluster then reports as failed although the VM moved.
	After func(vm, to string) error
}

// New is a live cluster with the VMs, hosts and rules of a model. Duplicate names are made
// unique as on a platform.
func New(c *cluster.Cluster) *Cluster {
	l := &Cluster{now: c, changed: make(chan struct{}), denied: map[live.Action][]string{}, moving: map[string]bool{}, account: "plimsoll@memory"}
	for i := range c.VMs {
		l.vms = append(l.vms, l.entity(c.VMs[i].Name))
	}
	l.change(nil, func(*cluster.Cluster) {})
	return l
}

func (l *Cluster) entity(name string) entity {
	l.created++
	return entity{fmt.Sprintf("vm-%d", l.created), name}
}

// Connection is a connection to the cluster.
func (l *Cluster) Connection() live.Connection {
	return live.Connection{Source: source{l}, Hand: hand{l}, Shaper: shaper{l}, Identity: []string{fmt.Sprintf("memory/%p", l)}, Close: func() error { return nil }}
}

// Kind is a management interface whose only cluster is this one.
func (l *Cluster) Kind() live.Kind {
	return live.Kind{
		Scheme: "memory", Doc: "a cluster in memory, for tests", Example: "memory://lab/",
		Open: func(context.Context, live.Address) (live.Connection, error) { return l.Connection(), nil },
	}
}

// Now is the present cluster, even while its control plane is lost.
func (l *Cluster) Now() *cluster.Cluster {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// Host is the name of the host of a VM; empty if the VM is not running or does not exist.
func (l *Cluster) Host(vm string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.find(vm); v >= 0 && l.now.VMs[v].Host != cluster.Nowhere {
		return l.now.Hosts[l.now.VMs[v].Host].Name
	}
	return ""
}

// change applies a function to a copy of the state, and reports the copy with an event. The
// lock is held.
func (l *Cluster) change(e *live.Event, how func(*cluster.Cluster)) {
	next := *l.now
	next.VMs, next.Hosts, next.Rules = slices.Clone(next.VMs), slices.Clone(next.Hosts), slices.Clone(next.Rules)
	next.At = time.Now().UTC().Format(time.RFC3339)
	how(&next)
	names, ids := make([]string, len(l.vms)), make([]string, len(l.vms))
	for i, vm := range l.vms {
		names[i], ids[i] = vm.name, vm.id
	}
	for i, name := range live.Unique(names, ids) {
		next.VMs[i].Name = name
	}
	l.now = &next
	if e != nil {
		e.At = time.Now()
		if l.lost {
			l.hidden = append(l.hidden, *e)
			return
		}
		l.events = append(l.events, *e)
	}
	if !l.lost {
		l.wake()
	}
}

// wake makes the sources report.
func (l *Cluster) wake() {
	if l.shown = l.now; l.muted {
		return
	}
	l.version++
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Cluster) find(vm string) int {
	return slices.IndexFunc(l.now.VMs, func(v cluster.VM) bool { return v.Name == vm })
}

func (l *Cluster) findHost(name string) cluster.HostID {
	return cluster.HostID(slices.IndexFunc(l.now.Hosts, func(h cluster.Host) bool { return h.Name == name }))
}

// source reads the cluster.
type source struct{ l *Cluster }

// Watch implements live.Source.
func (s source) Watch(ctx context.Context, report func(live.Step) error) error {
	l := s.l
	for version, seen := -1, -1; ; {
		l.mu.Lock()
		step, wait := live.Step{At: time.Now(), Cluster: l.shown}, l.changed
		ready := l.version != version && (version >= 0 || !l.lost)
		if ready {
			if version = l.version; seen >= 0 {
				step.Events = slices.Clone(l.events[seen:])
			}
			seen = len(l.events)
		}
		l.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		if ready {
			if err := report(step); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait:
		}
	}
}
