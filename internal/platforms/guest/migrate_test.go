package guest

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
)

// factorOf finds a factor of VMs by its name.
func factorOf(name string) factor.Factor {
	all := vm.Factors()
	return all[slices.IndexFunc(all, func(f factor.Factor) bool { return f.Name == name })]
}

func TestWhatDoesNotMigrate(t *testing.T) {
	f := factorOf("guest.migration")
	for _, level := range []string{"none", "precopy", "postcopy"} {
		if got, err := f.Check(t.Context(), factor.Env{}, level); got != level || err != nil {
			t.Errorf("%s: %q, %v", level, got, err)
		}
	}
	if _, err := f.Check(t.Context(), factor.Env{}, "teleport"); err == nil {
		t.Error("teleport passed")
	}
	for what, change := range map[string]func(*spec.Guest){
		"network":      func(s *spec.Guest) { s.Network = true },
		"pmem":         func(s *spec.Guest) { s.Pmem = 1 << 30 },
		"io_filter":    func(s *spec.Guest) { s.IOFilter = "null" },
		"virtual_time": func(s *spec.Guest) { s.VirtualTime = 3 },
	} {
		m := &machine{Next: spec.NewNext(machineName, kind().Defaults.(spec.Guest))}
		if _, err := f.Check(t.Context(), factor.Env{Machine: m}, "postcopy"); err != nil && qemu.MayPostcopy() == nil {
			t.Fatal(err)
		}
		if err := m.Reshape(func(g *spec.Guest) error { change(g); return nil }); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Check(t.Context(), factor.Env{Machine: m}, "postcopy"); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := f.Check(t.Context(), factor.Env{Machine: m}, "none"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
