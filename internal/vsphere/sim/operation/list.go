package operation

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// list is the property of an object that lists VMs.
func list(of mo.Reference) (name string, refs *[]types.ManagedObjectReference) {
	switch o := of.(type) {
	case *simulator.HostSystem:
		return "vm", &o.Vm
	case *simulator.ResourcePool:
		return "vm", &o.Vm
	case *simulator.VirtualApp:
		return "vm", &o.Vm
	case *simulator.Datastore:
		return "vm", &o.Vm
	case *mo.Network:
		return "vm", &o.Vm
	case *simulator.DistributedVirtualPortgroup:
		return "vm", &o.Vm
	case *simulator.Folder:
		return "childEntity", &o.ChildEntity
	}
	return "", nil
}

// enter adds a VM to the list of an object, unless it is there.
func (r *Room) enter(ctx *simulator.Context, at, ref types.ManagedObjectReference) {
	if _, refs := list(r.reg.Get(at)); refs != nil {
		ctx.WithLock(at, func() {
			if lastIndex(*refs, ref) < 0 {
				r.add(ctx, at, ref)
			}
		})
	}
}

// add adds a VM that is not in the list.
func (r *Room) add(ctx *simulator.Context, at, ref types.ManagedObjectReference) {
	of := r.reg.Get(at)
	if name, refs := list(of); refs != nil {
		ctx.WithLock(at, func() {
			*refs = append(*refs, ref)
			ctx.Update(of, []types.PropertyChange{change(name, *refs)})
		})
	}
}

// leave removes a VM from the list of an object. Readers of a folder's former list keep it.
func (r *Room) leave(ctx *simulator.Context, at, ref types.ManagedObjectReference) {
	of := r.reg.Get(at)
	name, refs := list(of)
	if refs == nil {
		return
	}
	ctx.WithLock(at, func() {
		i := lastIndex(*refs, ref)
		switch {
		case i < 0:
			return
		case name == "vm":
			*refs = slices.Delete(*refs, i, i+1)
			ctx.Update(of, []types.PropertyChange{change(name, *refs)})
			return
		}
		left := make([]types.ManagedObjectReference, 0, len(*refs))
		*refs = append(append(left, (*refs)[:i]...), (*refs)[i+1:]...)
		ctx.Update(of, []types.PropertyChange{change(name, *refs)})
	})
}

// lastIndex searches from the newest, which are removed most often.
func lastIndex(refs []types.ManagedObjectReference, ref types.ManagedObjectReference) int {
	for i := len(refs) - 1; i >= 0; i-- {
		if refs[i].Value == ref.Value && refs[i] == ref {
			return i
		}
	}
	return -1
}

// places are the objects that list a VM, besides its folder.
func places(v *mo.VirtualMachine) []types.ManagedObjectReference {
	var all []types.ManagedObjectReference
	if v.Runtime.Host != nil {
		all = append(all, *v.Runtime.Host)
	}
	if v.ResourcePool != nil {
		all = append(all, *v.ResourcePool)
	}
	return append(append(all, v.Datastore...), v.Network...)
}

// names finds VMs by folder and name, and datastores by name, without a scan.
type names struct {
	m      sync.Mutex
	by     map[title]types.ManagedObjectReference
	of     map[types.ManagedObjectReference]title
	stores map[types.ManagedObjectReference]*simulator.Datastore
}

type title struct {
	folder types.ManagedObjectReference
	name   string
}

func newNames(reg *simulator.Registry) *names {
	n := &names{by: map[title]types.ManagedObjectReference{}, of: map[types.ManagedObjectReference]title{}, stores: map[types.ManagedObjectReference]*simulator.Datastore{}}
	for _, kind := range []string{"VirtualMachine", "Datastore"} {
		for _, e := range reg.All(kind) {
			n.PutObject(nil, e)
		}
	}
	reg.AddHandler(n)
	return n
}

// taken is the VM with a name in a folder.
func (n *names) taken(folder types.ManagedObjectReference, name string) (types.ManagedObjectReference, bool) {
	n.m.Lock()
	defer n.m.Unlock()
	ref, is := n.by[title{folder, name}]
	return ref, is
}

// called lists the datastores with a name, of which a datacenter has one.
func (n *names) called(store string) (list []*simulator.Datastore) {
	n.m.Lock()
	defer n.m.Unlock()
	for _, d := range n.stores {
		if d.Name == store {
			list = append(list, d)
		}
	}
	return list
}

// Reference is the reference of the listener, which is not part of the inventory.
func (*names) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Listener", Value: "plimsoll-names"}
}

// PutObject handles new objects.
func (n *names) PutObject(_ *simulator.Context, of mo.Reference) {
	switch o := of.(type) {
	case *simulator.VirtualMachine:
		if o.Parent != nil && o.Name != "" {
			n.call(o.Self, title{*o.Parent, o.Name})
		}
	case *simulator.Datastore:
		n.m.Lock()
		defer n.m.Unlock()
		n.stores[o.Self] = o
	}
}

func (n *names) call(ref types.ManagedObjectReference, t title) {
	n.m.Lock()
	defer n.m.Unlock()
	if old, had := n.of[ref]; had && n.by[old] == ref {
		delete(n.by, old)
	}
	n.by[t], n.of[ref] = ref, t
}

// UpdateObject handles changes of names and parents of VMs.
func (n *names) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	v, ok := of.(*mo.VirtualMachine)
	if !ok || v.Parent == nil {
		return
	}
	for _, c := range changes {
		if c.Name == "name" || c.Name == "parent" {
			n.call(v.Self, title{*v.Parent, v.Name})
		}
	}
}

// RemoveObject handles removed objects.
func (n *names) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type != "VirtualMachine" && ref.Type != "Datastore" {
		return
	}
	n.m.Lock()
	defer n.m.Unlock()
	delete(n.stores, ref)
	if t, had := n.of[ref]; had {
		delete(n.of, ref)
		if n.by[t] == ref {
			delete(n.by, t)
		}
	}
}
