package inventory

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/vspheretest"
)

func TestObjectsThatAreGoneAreLeftOut(t *testing.T) {
	t.Parallel()
	vc := vspheretest.Start(t, 1, 2)
	s, err := session.Open(t.Context(), vc.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	var objects []reference
	for _, o := range vc.Model.Map().All("VirtualMachine") {
		objects = append(objects, id("VirtualMachine", -1-len(objects)), o.Reference())
	}
	names := map[string]bool{}
	err = read(t.Context(), s.Client(), objects, func(string) []string { return []string{"name"} }, func(o types.ObjectContent) {
		names[as[string](o.PropSet[0].Val)] = true
	})
	if err != nil || len(names) != 2 || len(objects) != 4 {
		t.Errorf("of %v, read %v: %v", objects, names, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
