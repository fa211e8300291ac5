package model

import "plimsoll/internal/cluster"

// Seen is the new state of a VM.
type Seen struct {
	VM, Host, Pool reference
	On             bool
	Size           *cluster.VM // without host and pool, read-only; nil for a removed VM
}

func (v *vm) seen(ref reference) Seen {
	return Seen{VM: ref, Host: v.host, Pool: v.pool, On: v.on && !v.template, Size: &v.size}
}

// Watch calls a function with all VMs, and then with each that changes. The function must not
// call the model.
func (m *Model) Watch(do func(Seen)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, v := range m.vms {
		do(v.seen(ref))
	}
	m.watch = do
}

// Observe lets a function change the observed demand of VMs; it returns whether it did. The
// function must not call the model.
func (m *Model) Observe(do func(vm reference, asks *cluster.Demand) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, v := range m.vms {
		is := *v
		if do(ref, &is.size.Demand) {
			m.vms[ref] = &is
		}
	}
	m.drop()
}
