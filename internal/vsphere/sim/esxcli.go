package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// esxcli exchanges the objects behind govc's host.esxcli. The original ones are no managed objects, and searches of
// the inventory end in a panic when they meet them.
type esxcli struct{}

type typeManager struct {
	mo.ExtensibleManagedObject
	*simulator.DynamicTypeManager
}

type methodExecuter struct {
	mo.ExtensibleManagedObject
	*simulator.ManagedMethodExecuter
}

// Reference names the handler among those that are told of changes.
func (esxcli) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Handler", Value: "esxcli"}
}

// PutObject exchanges an object that was registered.
func (esxcli) PutObject(ctx *simulator.Context, of mo.Reference) {
	managed := mo.ExtensibleManagedObject{Self: of.Reference()}
	switch of := of.(type) {
	case *simulator.DynamicTypeManager:
		ctx.Map.Put(&typeManager{managed, of})
	case *simulator.ManagedMethodExecuter:
		ctx.Map.Put(&methodExecuter{managed, of})
	}
}

// UpdateObject does nothing.
func (esxcli) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject does nothing.
func (esxcli) RemoveObject(*simulator.Context, types.ManagedObjectReference) {}
