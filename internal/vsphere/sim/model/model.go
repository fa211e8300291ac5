// Package model keeps the state of the simulator's clusters in the cluster model. It listens
// to changes of VMs, so that a decision need not read all of them.
package model

import (
	"slices"
	"strings"
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

// Model is the known state of all VMs.
type Model struct {
	reg *simulator.Registry

	mu       sync.Mutex
	vms      map[reference]*vm
	at       map[reference]map[reference]*vm // the same, by host
	views    map[reference]*View             // by cluster; dropped once invalid
	draining map[reference]bool              // hosts to be emptied
	changed  chan struct{}                   // closed at the next change; nil without waiters
	dropped  uint64                          // number of drops
	watch    func(Seen)
}

// vm is the record of a VM for decisions.
type vm struct {
	name       string
	on         bool
	template   bool
	host, pool reference
	size       cluster.VM // without host, pool, networks, datastores
	networks   []reference
	datastores []reference
}

// New makes the model of a registry that has its inventory.
func New(reg *simulator.Registry) *Model {
	m := &Model{
		reg: reg, vms: map[reference]*vm{}, at: map[reference]map[reference]*vm{}, views: map[reference]*View{}, draining: map[reference]bool{},
	}
	for _, e := range reg.All("VirtualMachine") {
		m.enter(&e.(*simulator.VirtualMachine).VirtualMachine)
	}
	reg.AddHandler(m)
	return m
}

// Reference is the reference of the listener, which is not part of the inventory.
func (*Model) Reference() reference { return reference{Type: "Listener", Value: "plimsoll-model"} }

// PutObject handles new objects.
func (m *Model) PutObject(_ *simulator.Context, of mo.Reference) {
	switch o := of.(type) {
	case *simulator.VirtualMachine:
		m.enter(&o.VirtualMachine)
	case *simulator.HostSystem, *simulator.ResourcePool:
		m.Forget()
	}
}

// UpdateObject handles changes.
func (m *Model) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	switch o := of.(type) {
	case *mo.VirtualMachine:
		if slices.ContainsFunc(changes, matters) {
			m.enter(o)
		}
	case *mo.HostSystem, *mo.ResourcePool:
		for _, c := range changes {
			if c.Name != "vm" && c.Name != "summary.quickStats" && c.Name != "recentTask" && c.Name != "runtime" && c.Name != "summary" {
				m.Forget()
				return
			}
		}
	}
}

// matters reports whether a change of a VM affects decisions. The summary only repeats other
// properties.
func matters(c types.PropertyChange) bool {
	switch c.Name {
	case "recentTask", "snapshot", "rootSnapshot", "layout", "layoutEx", "config.hardware.device", "runtime.bootTime":
		return false
	}
	return !strings.HasPrefix(c.Name, "summary")
}

// RemoveObject handles removed objects.
func (m *Model) RemoveObject(_ *simulator.Context, ref reference) {
	switch ref.Type {
	case "VirtualMachine":
		m.leave(ref)
	case "HostSystem", "ResourcePool":
		m.Forget()
	}
}

// Forget drops the views, because their source has changed.
func (m *Model) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop()
	m.tell()
}

// Revise resets the views to the present hosts of VMs: decisions that were not carried out are
// dropped.
func (m *Model) Revise() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.views {
		for id := range v.Cluster.VMs {
			v.put(cluster.VMID(id), v.Cluster.VMs[id].Host)
		}
	}
	m.tell()
}

// drop drops the views. The model is locked.
func (m *Model) drop() {
	clear(m.views)
	m.dropped++
}

// tell wakes waiters. The model is locked.
func (m *Model) tell() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Changed is closed at the next change.
func (m *Model) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// Drain marks a host as to be emptied, or removes the mark.
func (m *Model) Drain(host reference, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is {
		m.draining[host] = true
	} else {
		delete(m.draining, host)
	}
	m.drop()
	m.tell()
}

// On lists the VMs of a host, running ones or others.
func (m *Model) On(host reference, running bool) (list []reference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, v := range m.at[host] {
		if v.on == running {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, func(a, b reference) int { return compareNames(a.Value, b.Value) })
	return list
}

// Host is the host of a VM.
func (m *Model) Host(of reference) reference {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.vms[of]; v != nil {
		return v.host
	}
	return reference{}
}

// enter records a VM, whose lock is held or which is not published yet.
func (m *Model) enter(o *mo.VirtualMachine) {
	if o.Config == nil || o.Runtime.Host == nil {
		return
	}
	v := record(o)
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.vms[o.Self]
	v.size.Demand = demandOf(o, old)
	m.put(o.Self, old, v)
	if old != nil && old.on == v.on && old.host == v.host && old.same(v) {
		return
	}
	if m.watch != nil {
		m.watch(v.seen(o.Self))
	}
	for _, view := range m.views {
		view.follow(o.Self, old, v)
	}
	m.tell()
}

// put replaces the record of a VM; nil is none. The model is locked.
func (m *Model) put(ref reference, old, is *vm) {
	if old != nil && (is == nil || is.host != old.host) {
		delete(m.at[old.host], ref)
	}
	if is == nil {
		delete(m.vms, ref)
		return
	}
	m.vms[ref] = is
	if m.at[is.host] == nil {
		m.at[is.host] = map[reference]*vm{}
	}
	m.at[is.host][ref] = is
}

// leave removes the record of a VM.
func (m *Model) leave(ref reference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.vms[ref]
	if old == nil {
		return
	}
	m.put(ref, old, nil)
	if m.watch != nil {
		m.watch(Seen{VM: ref, Host: old.host, Pool: old.pool})
	}
	for _, view := range m.views {
		view.follow(ref, old, nil)
	}
	m.tell()
}

// same reports whether two records of a VM differ at most in its host and power state.
func (v *vm) same(o *vm) bool {
	return v.name == o.name && v.template == o.template && v.pool == o.pool && slices.Equal(v.networks, o.networks) && slices.Equal(v.datastores, o.datastores) &&
		v.size.VCPUs == o.size.VCPUs && v.size.CoresPerSocket == o.size.CoresPerSocket && v.size.Memory == o.size.Memory && v.size.HotAdd == o.size.HotAdd &&
		v.size.CPU == o.size.CPU && v.size.Mem == o.size.Mem && v.size.Overhead == o.size.Overhead && v.size.Demand == o.size.Demand
}
