package livetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
)

// shaper changes topologies of VMs in memory.
type shaper struct{ l *Cluster }

// Shapes implements live.Shaper.
func (s shaper) Shapes(ctx context.Context, vms []string) (map[string]live.Shape, error) {
	s.l.mu.Lock()
	defer s.l.mu.Unlock()
	if s.l.lost || ctx.Err() != nil {
		return nil, errors.Join(errLost, ctx.Err())
	}
	out := map[string]live.Shape{}
	for _, name := range vms {
		if v := s.l.find(name); v >= 0 {
			out[name] = s.shape(v)
		}
	}
	return out, nil
}

// shape is the topology of a VM. The lock is held.
func (s shaper) shape(v int) live.Shape {
	l := s.l
	vm := &l.now.VMs[v]
	setting, set := l.settings[l.vms[v].id]
	if !set {
		setting = topology.Setting{VCPUs: vm.VCPUs, CoresPerSocket: max(1, vm.CoresPerSocket), HotAdd: vm.HotAdd}
	}
	shape := live.Shape{Present: topology.Present{Setting: setting, Automatic: true}, Fixed: l.fixed[l.vms[v].id]}
	if vm.Host != cluster.Nowhere {
		shape.Busy = "it runs"
	}
	return shape
}

// Reshape implements live.Shaper. The hooks of moves are called with the setting as destination.
func (s shaper) Reshape(ctx context.Context, vm string, from, to topology.Setting) error {
	l := s.l
	l.mu.Lock()
	hooks := l.hooks
	l.mu.Unlock()
	if hooks.Before != nil {
		if err := hooks.Before(ctx, vm, to.String()); err != nil {
			return fmt.Errorf("change %s: %w", vm, err)
		}
	}
	if err := s.set(ctx, vm, from, to); err != nil {
		return fmt.Errorf("change %s: %w", vm, err)
	}
	if hooks.After != nil {
		return hooks.After(vm, to.String())
	}
	return nil
}

func (s shaper) set(ctx context.Context, vm string, from, to topology.Setting) error {
	l := s.l
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.find(vm)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("cancelled: %w", ctx.Err())
	case l.lost:
		return errLost
	case len(l.denied[live.Reshape]) > 0:
		return fmt.Errorf("permission denied: %s", l.denied[live.Reshape][0])
	case v < 0:
		return errors.New("no such VM")
	}
	switch now := s.shape(v); {
	case now.Fixed != "":
		return errors.New(now.Fixed)
	case now.Busy != "":
		return errors.New(now.Busy)
	case now.String() != from.String():
		return errors.New("it was changed meanwhile")
	}
	s.put(v, to)
	return nil
}

// put sets the topology of a VM. The lock is held.
func (s shaper) put(v int, to topology.Setting) {
	l := s.l
	l.settings = maps.Clone(l.settings)
	if l.settings == nil {
		l.settings = map[string]topology.Setting{}
	}
	l.settings[l.vms[v].id] = to
	l.change(nil, func(c *cluster.Cluster) { c.VMs[v].HotAdd = to.HotAdd })
}

// ShapeBy changes the topology of a VM as somebody else would.
func (l *Cluster) ShapeBy(vm string, to topology.Setting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if v := l.find(vm); v >= 0 {
		shaper{l}.put(v, to)
	}
}

// Fix declares the topology of a VM as fixed, with a reason.
func (l *Cluster) Fix(vm, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fixed == nil {
		l.fixed = map[string]string{}
	}
	if v := l.find(vm); v >= 0 {
		l.fixed[l.vms[v].id] = why
	}
}

// Setting is the present topology of a VM; empty if it does not exist.
func (l *Cluster) Setting(vm string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := slices.IndexFunc(l.now.VMs, func(m cluster.VM) bool { return m.Name == vm })
	if v < 0 {
		return ""
	}
	return shaper{l}.shape(v).String()
}

// Power starts a VM on a host, or stops it on none.
func (l *Cluster) Power(vm, host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, to := l.find(vm), cluster.HostID(cluster.Nowhere)
	if host != "" {
		to = l.findHost(host)
	}
	if v >= 0 {
		l.change(&live.Event{Kind: live.VMStarted, VM: vm, Host: host, By: "operator"}, func(c *cluster.Cluster) { c.VMs[v].Host = to })
	}
}
