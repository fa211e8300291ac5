// Package book keeps the state of the simulator's clusters as clusters of the model, and the load of
// their VMs and hosts. It listens to changes of VMs, so that a decision does not read all of them.
package book

import (
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

type reference = types.ManagedObjectReference

const (
	mib = 1 << 20
	on  = types.VirtualMachinePowerStatePoweredOn
)

// Book is what is known of all VMs.
type Book struct {
	reg  *simulator.Registry
	load *publisher

	m        sync.Mutex
	vms      map[reference]*vm
	views    map[reference]*View // by cluster; dropped when they no longer hold
	draining map[reference]bool  // hosts that are to be emptied
	changed  chan struct{}       // closed at the next change
	dropped  uint64              // how often views were dropped
}

// vm is what decisions need of a VM.
type vm struct {
	name       string
	on         bool
	template   bool
	host, pool reference
	size       cluster.VM // without host, pool, networks, datastores
	networks   []reference
	datastores []reference
}

// New makes the book of a registry that has its inventory, and begins to publish the load.
func New(reg *simulator.Registry) *Book {
	b := &Book{
		reg: reg, vms: map[reference]*vm{}, views: map[reference]*View{}, draining: map[reference]bool{}, changed: make(chan struct{}),
	}
	for _, e := range reg.All("VirtualMachine") {
		b.enter(&e.(*simulator.VirtualMachine).VirtualMachine)
	}
	b.load = newPublisher(b)
	reg.AddHandler(b)
	return b
}

// Close ends the publication of the load.
func (b *Book) Close() { b.load.close() }

// Reference is the name of the listener, which is no object of the inventory.
func (*Book) Reference() reference { return reference{Type: "Listener", Value: "plimsoll-book"} }

// PutObject is told of new objects.
func (b *Book) PutObject(_ *simulator.Context, of mo.Reference) {
	switch o := of.(type) {
	case *simulator.VirtualMachine:
		b.enter(&o.VirtualMachine)
	case *simulator.HostSystem, *simulator.ResourcePool:
		b.Forget()
	}
}

// UpdateObject is told of changes.
func (b *Book) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	switch o := of.(type) {
	case *mo.VirtualMachine:
		if !slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Name != "summary.quickStats" }) {
			return
		}
		b.enter(o)
	case *mo.HostSystem, *mo.ResourcePool:
		for _, c := range changes {
			if c.Name != "vm" && c.Name != "summary.quickStats" && c.Name != "recentTask" {
				b.Forget()
				return
			}
		}
	}
}

// RemoveObject is told of objects that are gone.
func (b *Book) RemoveObject(_ *simulator.Context, ref reference) {
	switch ref.Type {
	case "VirtualMachine":
		b.m.Lock()
		old := b.vms[ref]
		delete(b.vms, ref)
		b.m.Unlock()
		if old != nil {
			b.load.touch(ref, old.host)
			b.Forget()
		}
	case "HostSystem", "ResourcePool":
		b.Forget()
	}
}

// Forget drops the views: what they were made from has changed.
func (b *Book) Forget() {
	b.m.Lock()
	defer b.m.Unlock()
	b.drop()
	b.tell()
}

// drop drops the views. The book is locked.
func (b *Book) drop() {
	clear(b.views)
	b.dropped++
}

// tell wakes those who wait for changes. The book is locked.
func (b *Book) tell() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Changed is closed at the next change.
func (b *Book) Changed() <-chan struct{} {
	b.m.Lock()
	defer b.m.Unlock()
	return b.changed
}

// Drain marks a host as one that is to be emptied, or no longer so.
func (b *Book) Drain(host reference, is bool) {
	b.m.Lock()
	defer b.m.Unlock()
	if is {
		b.draining[host] = true
	} else {
		delete(b.draining, host)
	}
	b.drop()
	b.tell()
}

// On lists the VMs of a host, those that run or those that do not.
func (b *Book) On(host reference, running bool) (list []reference) {
	b.m.Lock()
	defer b.m.Unlock()
	for ref, v := range b.vms {
		if v.host == host && v.on == running {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, func(a, b reference) int { return compareNames(a.Value, b.Value) })
	return list
}

// Host is the host of a VM.
func (b *Book) Host(of reference) reference {
	b.m.Lock()
	defer b.m.Unlock()
	if v := b.vms[of]; v != nil {
		return v.host
	}
	return reference{}
}

// enter takes down a VM, whose lock is held or which nobody else knows.
func (b *Book) enter(o *mo.VirtualMachine) {
	if o.Config == nil || o.Runtime.Host == nil {
		return
	}
	v := record(o)
	b.m.Lock()
	defer b.m.Unlock()
	old := b.vms[o.Self]
	v.size.Demand = demandOf(o, old)
	b.vms[o.Self] = v
	if old != nil && old.on == v.on && old.host == v.host && old.same(v) {
		return
	}
	if b.load != nil {
		hosts := []reference{v.host}
		if old != nil && old.host != v.host {
			hosts = append(hosts, old.host)
		}
		b.load.touch(o.Self, hosts...)
	}
	if old == nil || !old.same(v) {
		b.drop()
	} else {
		for _, view := range b.views {
			view.follow(o.Self, v)
		}
	}
	b.tell()
}

// same reports whether two records of a VM differ in nothing but where it runs and whether it does.
func (v *vm) same(o *vm) bool {
	return v.name == o.name && v.template == o.template && v.pool == o.pool && slices.Equal(v.networks, o.networks) && slices.Equal(v.datastores, o.datastores) &&
		v.size.VCPUs == o.size.VCPUs && v.size.CoresPerSocket == o.size.CoresPerSocket && v.size.Memory == o.size.Memory && v.size.HotAdd == o.size.HotAdd &&
		v.size.CPU == o.size.CPU && v.size.Mem == o.size.Mem && v.size.Overhead == o.size.Overhead
}
