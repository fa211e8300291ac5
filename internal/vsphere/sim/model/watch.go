package model

import "plimsoll/internal/cluster"

// Seen is a VM as it is from now on.
type Seen struct {
	VM, Host, Pool reference
	On             bool
	Size           *cluster.VM // without host and pool, not to be changed; nil of a VM that is gone
}

func (v *vm) seen(ref reference) Seen {
	return Seen{VM: ref, Host: v.host, Pool: v.pool, On: v.on && !v.template, Size: &v.size}
}

// Watch calls a function with all VMs, and then with each that changes. It may not call the model.
func (m *Model) Watch(do func(Seen)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref, v := range m.vms {
		do(v.seen(ref))
	}
	m.watch = do
}
