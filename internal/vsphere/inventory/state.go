package inventory

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

// state is the copy of a vCenter's cluster, and the changes since the model was built.
type state struct {
	root  root
	hosts map[reference]*host
	pools map[reference]*pool
	vms   map[reference]*vm
	names map[reference]string // of networks and datastores

	model      *model
	order      []*vm              // those in the model
	rebuild    bool               // hosts, pools, networks or datastores were added, removed or renamed
	resort     map[reference]bool // VMs that were added, removed or renamed
	dirtyVMs   map[reference]bool
	dirtyHosts map[reference]bool
	partial    map[reference]bool // only a part of a property was sent
}

func newState() *state {
	return &state{
		hosts: map[reference]*host{}, pools: map[reference]*pool{}, vms: map[reference]*vm{}, names: map[reference]string{},
		resort: map[reference]bool{}, dirtyVMs: map[reference]bool{}, dirtyHosts: map[reference]bool{}, partial: map[reference]bool{},
	}
}

// find is the copy of an object; nil if there is none.
func (s *state) find(ref reference) object {
	switch ref.Type {
	case "VirtualMachine":
		if v := s.vms[ref]; v != nil {
			return v
		}
	case "HostSystem":
		if h := s.hosts[ref]; h != nil {
			return h
		}
	case "ResourcePool", "VirtualApp":
		if p := s.pools[ref]; p != nil {
			return p
		}
	case "ClusterComputeResource":
		return &s.root
	}
	return nil
}

func (s *state) enter(ref reference) object {
	if o := s.find(ref); o != nil {
		return o
	}
	if ref.Type == "VirtualMachine" {
		s.vms[ref] = &vm{ref: ref}
		s.resort[ref] = true
		return s.vms[ref]
	}
	s.rebuild = true
	switch ref.Type {
	case "HostSystem":
		s.hosts[ref] = &host{ref: ref}
	case "ResourcePool", "VirtualApp":
		s.pools[ref] = &pool{ref: ref}
	}
	return s.find(ref)
}

func (s *state) leave(ref reference) {
	if ref.Type == "VirtualMachine" {
		s.resort[ref] = true
	} else {
		s.rebuild = true
	}
	delete(s.vms, ref)
	delete(s.hosts, ref)
	delete(s.pools, ref)
	delete(s.dirtyVMs, ref)
	delete(s.dirtyHosts, ref)
	delete(s.partial, ref)
}

// take applies an update of an object.
func (s *state) take(u types.ObjectUpdate, now time.Time) {
	if u.Kind == types.ObjectUpdateKindLeave {
		s.leave(u.Obj)
		return
	}
	o := s.find(u.Obj)
	if u.Kind == types.ObjectUpdateKindEnter {
		o = s.enter(u.Obj)
	}
	if o == nil {
		return
	}
	for _, c := range u.ChangeSet {
		value := c.Val
		if c.Op == types.PropertyChangeOpRemove || c.Op == types.PropertyChangeOpIndirectRemove {
			value = nil
		}
		if !o.set(c.Name, value) || c.Op == types.PropertyChangeOpAdd {
			s.partial[u.Obj] = true
		}
	}
	s.mark(u.Obj, u.ChangeSet, now)
}

// mark records which part of the model an update changes.
func (s *state) mark(ref reference, changes []types.PropertyChange, now time.Time) {
	switch {
	case s.vms[ref] != nil:
		v, measured := s.vms[ref], false
		for _, c := range changes {
			measured = measured || strings.HasPrefix(c.Name, "summary.quickStats")
			if c.Name == "name" {
				s.resort[ref] = true
			}
		}
		if measured {
			v.sample(now)
		}
		s.dirtyVMs[ref] = true
		if s.model != nil && s.model.knows(ref) != v.usable() {
			s.resort[ref] = true
		}
		s.rebuild = s.rebuild || s.model != nil && s.model.lacks(v.networks, v.datastores)
	case s.hosts[ref] != nil:
		h := s.hosts[ref]
		for _, c := range changes {
			s.rebuild = s.rebuild || c.Name == "name"
		}
		s.dirtyHosts[ref] = true
		s.rebuild = s.rebuild || s.model != nil && s.model.lacks(h.networks, h.datastores)
	default:
		s.rebuild = true
	}
}

func (m *model) knows(ref reference) bool {
	_, has := m.vms[ref]
	return has
}

// lacks reports whether networks or datastores are missing in the model.
func (m *model) lacks(networks, datastores []reference) bool {
	for _, r := range networks {
		if _, has := m.links[r]; !has {
			return true
		}
	}
	for _, r := range datastores {
		if _, has := m.stores[r]; !has {
			return true
		}
	}
	return false
}

// complete reads what updates omit: properties that were sent in part, and names of networks
// and datastores.
func (s *state) complete(ctx context.Context, c *vim25.Client, now time.Time) error {
	if len(s.partial) > 0 {
		var again []reference
		for ref := range s.partial {
			again = append(again, ref)
		}
		err := read(ctx, c, again, propertiesOf, func(o types.ObjectContent) { s.take(entered(o), now) })
		if err != nil {
			return err
		}
		clear(s.partial)
	}
	if err := s.examine(ctx, c, now); err != nil {
		return err
	}
	if !s.rebuild && s.model != nil {
		return nil
	}
	unnamed := map[reference]bool{}
	note := func(list []reference) {
		for _, r := range list {
			if s.names[r] == "" {
				unnamed[r] = true
			}
		}
	}
	for _, h := range s.hosts {
		note(h.networks)
		note(h.datastores)
	}
	for _, v := range s.vms {
		note(v.networks)
		note(v.datastores)
	}
	if len(unnamed) == 0 {
		return nil
	}
	var refs []reference
	for r := range unnamed {
		refs = append(refs, r)
	}
	return read(ctx, c, refs, func(string) []string { return []string{"name"} }, func(o types.ObjectContent) {
		for _, p := range o.PropSet {
			s.names[o.Obj] = config.Plain(as[string](p.Val))
		}
	})
}

// examine reads the devices of VMs that may have devices of their host.
func (s *state) examine(ctx context.Context, c *vim25.Client, now time.Time) error {
	var suspects []reference
	for ref, v := range s.vms {
		if v.suspect() {
			v.examined = true // also if it was deleted meanwhile
			suspects = append(suspects, ref)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	return read(ctx, c, suspects, func(string) []string { return []string{"config.hardware.device"} }, func(o types.ObjectContent) { s.take(entered(o), now) })
}

// entered converts a read object to an update.
func entered(o types.ObjectContent) types.ObjectUpdate {
	u := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: o.Obj}
	for _, p := range o.PropSet {
		u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
	}
	return u
}

// advance updates the model, and reports whether it has changed.
func (s *state) advance(now time.Time) bool {
	switch {
	case s.rebuild || s.model == nil:
		s.model = s.build(now)
	case len(s.resort) > 0:
		s.model = s.model.recast(s, now)
	case len(s.dirtyVMs)+len(s.dirtyHosts) > 0:
		s.model = s.model.with(s, now)
	default:
		return false
	}
	s.rebuild = false
	clear(s.resort)
	clear(s.dirtyVMs)
	clear(s.dirtyHosts)
	return true
}

// resample adds another sample of demand that has not changed for a period, since a vCenter
// sends changes only.
func (s *state) resample(now time.Time, period time.Duration) {
	for ref, v := range s.vms {
		if v.sampled.IsZero() || now.Sub(v.sampled) < period {
			continue
		}
		before, active := v.demand.Recent, v.active.Recent
		v.sample(now)
		if math.Abs(v.demand.Recent-before) >= 1 || math.Abs(v.active.Recent-active) >= mib {
			s.dirtyVMs[ref] = true
		}
	}
}

// inherit copies the demand history of VMs from the state before a loss of the connection.
func (s *state) inherit(old *state) {
	for ref, v := range s.vms {
		if was := old.vms[ref]; was != nil && was.demand.Count > 0 {
			last := v.stats
			v.demand, v.active, v.sampled = was.demand, was.active, was.sampled
			if last != was.stats {
				v.sample(v.sampled)
			}
		}
	}
}
