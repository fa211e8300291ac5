package state

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"
)

// An object that is read can be loaded, or gives an error.
func FuzzObject(f *testing.F) {
	text, err := encode(types.ObjectContent{Obj: types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}, PropSet: []types.DynamicProperty{
		{Name: "name", Val: "web"}, {Name: "runtime", Val: types.VirtualMachineRuntimeInfo{PowerState: "poweredOn"}},
		{Name: "datastore", Val: types.ArrayOfManagedObjectReference{ManagedObjectReference: []types.ManagedObjectReference{{Type: "Datastore", Value: "datastore-1"}}}},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`<ObjectContent><obj type="Folder">group-1</obj><propSet><name>childEntity</name><val type="x">1</val></propSet></ObjectContent>`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := new(State)
		if s.object(text) != nil {
			return
		}
		c := s.objects[0]
		o, known := made(c.Obj.Type)
		if !known {
			t.Fatalf("%s was read", c.Obj)
		}
		if err := fillIn(o, c); err == nil && number(o.Reference().Value) < 0 {
			t.Errorf("%s has a negative number", o.Reference())
		}
	})
}
