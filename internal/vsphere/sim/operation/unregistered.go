package operation

import (
	"maps"

	"github.com/vmware/govmomi/simulator"
)

// Unregistered are the unregistered VMs with existing files, by the paths of their files.
func Unregistered(r *Room) map[string]simulator.VirtualMachine {
	r.m.Lock()
	defer r.m.Unlock()
	return maps.Clone(r.unregistered)
}

// Keep adds unregistered VMs.
func Keep(r *Room, unregistered map[string]simulator.VirtualMachine) {
	r.m.Lock()
	defer r.m.Unlock()
	maps.Copy(r.unregistered, unregistered)
}
