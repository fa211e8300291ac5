package collector

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// views shadows the view manager, whose container views scan the whole inventory for each new
// object and do not report removals.
type views struct{ *simulator.ViewManager }

// Wrap shadows the view manager.
func Wrap(of mo.Reference) mo.Reference {
	if m, ok := of.(*simulator.ViewManager); ok {
		return &views{m}
	}
	return nil
}

// list is a list view. The original never releases its lock.
type list struct{ *simulator.ListView }

// CreateListView makes a view.
func (m *views) CreateListView(ctx *simulator.Context, r *types.CreateListView) soap.HasFault {
	body := m.ViewManager.CreateListView(ctx, r)
	if made, ok := body.(*methods.CreateListViewBody); ok && made.Res != nil {
		if v, ok := ctx.Session.Registry.Get(made.Res.Returnval).(*simulator.ListView); ok {
			ctx.Session.Put(&list{v})
		}
	}
	return body
}

// DestroyView removes a view and its lock.
func (v *list) DestroyView(ctx *simulator.Context, r *types.DestroyView) soap.HasFault {
	body := v.ListView.DestroyView(ctx, r)
	ctx.Map.Remove(ctx, v.Self)
	return body
}

// container is a container view.
type container struct {
	mo.ContainerView
	kinds []string
	has   map[types.ManagedObjectReference]bool
}

// mostDepth is the maximum depth of an inventory.
const mostDepth = 64

// CreateContainerView makes a view.
func (m *views) CreateContainerView(ctx *simulator.Context, r *types.CreateContainerView) soap.HasFault {
	// The original validates the call. Its view is discarded.
	probe := types.CreateContainerView{This: r.This, Container: r.Container, Type: r.Type}
	checked := m.ViewManager.CreateContainerView(ctx, &probe).(*methods.CreateContainerViewBody)
	if checked.Fault_ != nil {
		return checked
	}
	if old, ok := ctx.Session.Registry.Get(checked.Res.Returnval).(*simulator.ContainerView); ok {
		old.DestroyView(ctx, &types.DestroyView{This: old.Self})
	}
	v := &container{kinds: r.Type, has: map[types.ManagedObjectReference]bool{}}
	v.Container, v.Recursive, v.Type = r.Container, r.Recursive, r.Type
	v.Self.Type = "ContainerView"
	ctx.Session.Put(v)
	ctx.Map.AddHandler(v) // before the scan, so that nothing is missed
	ctx.WithLock(v, func() {
		for _, e := range ctx.Map.All("") {
			if v.wants(ctx, e) && !v.has[e.Reference()] {
				v.has[e.Reference()] = true
				v.View = append(v.View, e.Reference())
			}
		}
		slices.SortFunc(v.View, func(a, b types.ManagedObjectReference) int {
			return cmp.Or(strings.Compare(a.Type, b.Type), cmp.Compare(len(a.Value), len(b.Value)), strings.Compare(a.Value, b.Value))
		})
	})
	return &methods.CreateContainerViewBody{Res: &types.CreateContainerViewResponse{Returnval: v.Self}}
}

// DestroyView removes a view.
func (v *container) DestroyView(ctx *simulator.Context, _ *types.DestroyView) soap.HasFault {
	ctx.Map.RemoveHandler(v)
	ctx.Session.Remove(ctx, v.Self)
	ctx.Map.Remove(ctx, v.Self)
	return &methods.DestroyViewBody{Res: new(types.DestroyViewResponse)}
}

// wants reports whether an object belongs to the view.
func (v *container) wants(ctx *simulator.Context, e mo.Entity) bool {
	o, ok := managed(e)
	if !ok {
		return false
	}
	fits := len(v.kinds) == 0
	for _, k := range v.kinds {
		fits = fits || is(o, e.Reference(), k)
	}
	if !fits {
		return false
	}
	for _, above := range parents(e) {
		if v.above(ctx, above) {
			return true
		}
	}
	return false
}

// parents are the direct parents of an object; for a VM, its pool and its host too.
func parents(e mo.Entity) (list []types.ManagedObjectReference) {
	if p := e.Entity().Parent; p != nil {
		list = append(list, *p)
	}
	if vm, ok := e.(*simulator.VirtualMachine); ok {
		if vm.ResourcePool != nil {
			list = append(list, *vm.ResourcePool)
		}
		if vm.Runtime.Host != nil {
			list = append(list, *vm.Runtime.Host)
		}
	}
	return list
}

// above reports whether an object is the container, or below it in a recursive view.
func (v *container) above(ctx *simulator.Context, ref types.ManagedObjectReference) bool {
	for range mostDepth {
		if ref == v.Container {
			return true
		}
		e, ok := ctx.Map.Get(ref).(mo.Entity)
		if !ok || !v.Recursive || e.Entity().Parent == nil {
			return false
		}
		ref = *e.Entity().Parent
	}
	return false
}

// PutObject adds a new object.
func (v *container) PutObject(ctx *simulator.Context, of mo.Reference) {
	e, ok := of.(mo.Entity)
	if !ok || !v.wants(ctx, e) {
		return
	}
	ctx.WithLock(v, func() {
		if ref := e.Reference(); !v.has[ref] {
			v.has[ref] = true
			ctx.Update(v, []types.PropertyChange{{Name: "view", Val: append(v.View, ref)}})
		}
	})
}

// UpdateObject adds an object that moved into the view, and removes one that moved out.
func (v *container) UpdateObject(ctx *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	if !slices.ContainsFunc(changes, func(c types.PropertyChange) bool {
		return c.Name == "parent" || c.Name == "name" || c.Name == "resourcePool" || c.Name == "runtime.host"
	}) {
		return
	}
	e, ok := ctx.Map.Get(of.Reference()).(mo.Entity)
	if !ok {
		return
	}
	if v.wants(ctx, e) {
		v.PutObject(ctx, e)
	} else {
		v.RemoveObject(ctx, e.Reference())
	}
}

// RemoveObject removes an object.
func (v *container) RemoveObject(ctx *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "Task" {
		return
	}
	ctx.WithLock(v, func() {
		if !v.has[ref] {
			return
		}
		delete(v.has, ref)
		i := slices.Index(v.View, ref)
		left := make([]types.ManagedObjectReference, 0, len(v.View))
		ctx.Update(v, []types.PropertyChange{{Name: "view", Val: append(append(left, v.View[:i]...), v.View[i+1:]...)}})
	})
}
