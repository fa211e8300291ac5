package inventory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
)

// NameIndex looks up the vCenter's objects by their names in the model. It may be used
// concurrently.
type NameIndex struct {
	mu         sync.Mutex
	model      *model
	vms, hosts map[string]reference // of the model, filled on demand
}

// fill replaces the content by the names of a model.
func (b *NameIndex) fill(m *model) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.model, b.vms, b.hosts = m, nil, nil
}

// All lists the VMs and hosts.
func (b *NameIndex) All() (vms, hosts map[string]types.ManagedObjectReference) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.model; m != nil && b.vms == nil {
		b.vms, b.hosts = make(map[string]reference, len(m.vmIDs)), make(map[string]reference, len(m.hostIDs))
		for i, ref := range m.vmIDs {
			b.vms[m.state.VMs[i].Name] = ref
		}
		for i, ref := range m.hostIDs {
			b.hosts[m.state.Hosts[i].Name] = ref
		}
	}
	return b.vms, b.hosts
}

// VM finds a VM.
func (b *NameIndex) VM(name string) (types.ManagedObjectReference, error) {
	vms, _ := b.All()
	ref, has := vms[name]
	if !has {
		return ref, fmt.Errorf("the cluster has no VM %s", name)
	}
	return ref, nil
}

// Host finds a host.
func (b *NameIndex) Host(name string) (types.ManagedObjectReference, error) {
	_, hosts := b.All()
	ref, has := hosts[name]
	if !has {
		return ref, fmt.Errorf("the cluster has no host %s", name)
	}
	return ref, nil
}

// Fill reads the names of a cluster's objects, for use without a watch. It does nothing if
// there are some.
func (b *NameIndex) Fill(ctx context.Context, s *session.Session, of types.ManagedObjectReference) error {
	b.mu.Lock()
	filled := b.model != nil
	b.mu.Unlock()
	if filled {
		return nil
	}
	names := newState()
	wanted := map[string][]string{"HostSystem": {"name"}, "VirtualMachine": {"name", "config.template", "config.hardware.numCPU", "config.hardware.memoryMB"}}
	take := func(o types.ObjectContent) {
		if entry := names.enter(o.Obj); entry != nil {
			for _, p := range o.PropSet {
				entry.set(p.Name, p.Val)
			}
		}
	}
	if err := viewed(ctx, s.Client(), of, wanted, take); err != nil {
		return fmt.Errorf("read the names of VMs and hosts: %w", err)
	}
	b.fill(names.build(time.Now()))
	return nil
}
