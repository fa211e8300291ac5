package collector

import (
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// filter is the state of a property filter: the reported objects, and the changes since.
type filter struct {
	mo.PropertyFilter
	hub *hub
	pc  *Collector

	m       sync.Mutex
	fresh   bool // nothing was reported yet
	again   bool // a traversed object has changed
	changed map[types.ManagedObjectReference]map[string]bool
	gone    map[types.ManagedObjectReference]bool

	// The fields below belong to the waiting caller.
	members map[types.ManagedObjectReference]bool
	visited map[types.ManagedObjectReference]bool
	entries entries
}

// The methods of a listener, without effect: the hub listens. They make the simulator remove
// the filter with its session.

// PutObject does nothing.
func (*filter) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing.
func (*filter) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing.
func (*filter) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}

// DestroyPropertyFilter removes a filter.
func (f *filter) DestroyPropertyFilter(ctx *simulator.Context, _ *types.DestroyPropertyFilter) soap.HasFault {
	f.pc.drop(f)
	f.hub.drop(f)
	ctx.Session.Remove(ctx, f.Self)
	return &methods.DestroyPropertyFilterBody{Res: new(types.DestroyPropertyFilterResponse)}
}

// note records the change of an object.
func (f *filter) note(ref types.ManagedObjectReference, changes []types.PropertyChange) {
	f.m.Lock()
	if f.visited[ref] {
		f.again = true
	}
	names := f.changed[ref]
	if names == nil {
		names = map[string]bool{}
		f.changed[ref] = names
	}
	for _, c := range changes {
		names[c.Name] = true
	}
	f.m.Unlock()
	f.pc.wakeUp()
}

// left records the removal of an object.
func (f *filter) left(ref types.ManagedObjectReference) {
	f.m.Lock()
	f.gone[ref] = true
	f.m.Unlock()
	f.pc.wakeUp()
}

// restart makes the filter report everything.
func (f *filter) restart() {
	f.m.Lock()
	defer f.m.Unlock()
	f.fresh = true
}

// since returns and clears the changes.
func (f *filter) since() (fresh, again bool, changed map[types.ManagedObjectReference]map[string]bool, gone map[types.ManagedObjectReference]bool) {
	f.m.Lock()
	defer f.m.Unlock()
	fresh, again, changed, gone = f.fresh, f.again, f.changed, f.gone
	f.fresh, f.again = false, false
	f.changed, f.gone = map[types.ManagedObjectReference]map[string]bool{}, map[types.ManagedObjectReference]bool{}
	return fresh, again, changed, gone
}

// updates are the changes since the last report.
func (f *filter) updates(ctx *simulator.Context) (list []types.ObjectUpdate, fault types.BaseMethodFault) {
	fresh, again, changed, gone := f.since()
	if fresh {
		f.members, f.entries = map[types.ManagedObjectReference]bool{}, entries{}
	}
	for ref := range gone {
		if f.members[ref] {
			f.forget(ref)
			list = append(list, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
		}
	}
	entered := map[types.ManagedObjectReference]bool{}
	if fresh || again {
		moved, fault := f.reselect(ctx, entered)
		if fault != nil {
			return nil, fault
		}
		list = append(list, moved...)
	}
	for ref, names := range changed {
		if f.members[ref] && !entered[ref] {
			if set := f.modified(ctx, ref, names); len(set) > 0 {
				list = append(list, types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: ref, ChangeSet: set})
			}
		}
	}
	return list, nil
}

// reselect traverses again, and reports added and removed objects.
func (f *filter) reselect(ctx *simulator.Context, entered map[types.ManagedObjectReference]bool) (list []types.ObjectUpdate, fault types.BaseMethodFault) {
	s := newSelection(ctx, func(ref types.ManagedObjectReference) {
		f.m.Lock()
		f.visited[ref] = true
		f.m.Unlock()
		f.hub.watch(f, ref)
	})
	for i := range f.Spec.ObjectSet {
		if fault := s.object(&f.Spec.ObjectSet[i]); fault != nil {
			if _, missing := fault.(*types.ManagedObjectNotFound); !missing {
				return nil, fault
			}
		}
	}
	for ref := range f.members {
		if !s.has[ref] {
			f.forget(ref)
			list = append(list, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref})
		}
	}
	var come []types.ManagedObjectReference
	for _, ref := range s.refs {
		if !f.members[ref] {
			come = append(come, ref)
		}
	}
	f.hub.watch(f, come...) // before they are read
	for _, ref := range come {
		c, ok := content(ctx, ref, f.Spec.PropSet)
		if !ok {
			continue
		}
		f.members[ref], entered[ref] = true, true
		u := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: ref, MissingSet: c.MissingSet}
		f.entries.keep(ref, c.PropSet)
		for _, p := range c.PropSet {
			u.ChangeSet = append(u.ChangeSet, types.PropertyChange{Op: types.PropertyChangeOpAssign, Name: p.Name, Val: p.Val})
		}
		u.ChangeSet = append(u.ChangeSet, absent(c, f.Spec.PropSet)...)
		list = append(list, u)
	}
	return list, nil
}

// modified reads the properties of a filter that changes affect.
func (f *filter) modified(ctx *simulator.Context, ref types.ManagedObjectReference, names map[string]bool) (set []types.PropertyChange) {
	var sets []types.PropertySpec
	for _, p := range f.Spec.PropSet {
		wanted := types.PropertySpec{Type: p.Type}
		for name := range names {
			if p.All != nil && *p.All {
				wanted.PathSet = append(wanted.PathSet, name)
			}
		}
		for _, path := range p.PathSet {
			for name := range names {
				if touches(name, path) {
					wanted.PathSet = append(wanted.PathSet, path)
					break
				}
			}
		}
		if len(wanted.PathSet) > 0 {
			sets = append(sets, wanted)
		}
	}
	if len(sets) == 0 {
		return nil
	}
	c, ok := content(ctx, ref, sets)
	if !ok {
		return nil
	}
	has := map[string]bool{}
	for _, p := range c.PropSet {
		has[p.Name] = true
		if isEntry(p.Name) {
			set = f.entries.changed(set, ref, p, names)
			continue
		}
		set = append(set, types.PropertyChange{Op: types.PropertyChangeOpAssign, Name: p.Name, Val: p.Val})
	}
	for _, m := range c.MissingSet {
		has[m.Path] = true
	}
	for _, s := range sets {
		for _, path := range s.PathSet {
			if !has[path] { // it was unset
				has[path] = true
				if isEntry(path) {
					set = f.entries.removed(set, ref, path)
					continue
				}
				set = append(set, types.PropertyChange{Op: types.PropertyChangeOpAssign, Name: path})
			}
		}
	}
	return set
}

// forget drops an object.
func (f *filter) forget(ref types.ManagedObjectReference) {
	delete(f.members, ref)
	delete(f.entries, ref)
}

// touches reports whether a change of one property changes another.
func touches(changed, path string) bool {
	return changed == path || below(changed, path) || below(path, changed)
}

// below reports whether a property is part of another.
func below(part, whole string) bool {
	return len(part) > len(whole) && strings.HasPrefix(part, whole) && (part[len(whole)] == '.' || part[len(whole)] == '[')
}
