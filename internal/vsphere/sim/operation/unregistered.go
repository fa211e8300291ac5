package operation

import (
	"maps"

	"github.com/vmware/govmomi/simulator"
)

// Unregistered are the VMs whose files are there and that are in no inventory, by the paths of their files.
func Unregistered(r *Room) map[string]simulator.VirtualMachine {
	r.m.Lock()
	defer r.m.Unlock()
	return maps.Clone(r.unregistered)
}

// Keep adds VMs that are in no inventory.
func Keep(r *Room, unregistered map[string]simulator.VirtualMachine) {
	r.m.Lock()
	defer r.m.Unlock()
	maps.Copy(r.unregistered, unregistered)
}
