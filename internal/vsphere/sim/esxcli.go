package sim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// esxcli replaces the objects behind govc's host.esxcli. The original ones are not managed
// objects, and make searches of the inventory panic.
type esxcli struct{}

type typeManager struct {
	mo.ExtensibleManagedObject
	*simulator.DynamicTypeManager
}

type methodExecuter struct {
	mo.ExtensibleManagedObject
	*simulator.ManagedMethodExecuter
}

// Reference is the reference of the handler.
func (esxcli) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Handler", Value: "esxcli"}
}

// PutObject replaces a registered object.
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
