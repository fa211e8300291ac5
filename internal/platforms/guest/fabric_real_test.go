package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

// A disk that another guest exports over TCP is written, and read back after the death of that guest, and from the guest's own controller. The factors of
// the disk are read from the guest that has it, whose CPU time counts. Without a fabric nothing of it is left.
func TestDiskOverTCP(t *testing.T) {
	b := booted(t, func(s *spec.Guest) { s.Network = true })
	m := b.vms.First()
	platformtest.SetAndReadBack(t, m, vm.Factors(), map[string]string{"guest.controller": "nvme", "guest.cache": "writeback", "guest.aio": "threads", "guest.fabric": "tcp"})
	overFabric(t, b, spec.OverTCP)
	if err := b.Operate(t.Context(), platform.Snapshot, m, platform.Group{}); err == nil || !strings.Contains(err.Error(), "set fabric: none") {
		t.Errorf("a snapshot: %v", err)
	}
	i, err := m.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, err := i.from.used(t.Context())
	if err != nil || before == 0 {
		t.Errorf("the target took %s of CPU: %v", before, err)
	}
	if given, err := m.Given(t.Context()); err != nil || given.Others < before {
		t.Errorf("%s of others, of which the target took %s: %v", given.Others, before, err)
	}
	// A guest whose target has died boots again with a new one.
	platformtest.Do(t, m, "sync")
	if err := i.from.qemu.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := platformtest.Do(t, m, "cat", b.Scratch()+"/kept"); got != "yes" {
		t.Errorf("after the death of its target: %q", got)
	}
	withoutFabric(t, b)
}

// The same over RDMA, by soft-RoCE, with a kernel that has it; figures come with a warning.
func TestDiskOverRDMA(t *testing.T) {
	b := booted(t, func(s *spec.Guest) { s.Network, s.Fabric = true, spec.OverRDMA })
	b.supply.Kernel = generic(t)
	overFabric(t, b, spec.OverRDMA)
	withoutFabric(t, b)
}

// generic is the distribution's kernel with all modules, in a folder of its own: the last kernel in the usual one is what guests boot.
func generic(t *testing.T) *kernel.Kernel {
	t.Helper()
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to fetch a kernel with soft-RoCE")
	}
	folder, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"linux-image-amd64", "linux-image-generic"} {
		k, err := kernel.FetchPackage(t.Context(), filepath.Join(folder, "generic"), name)
		if err == nil {
			return k
		}
		t.Log(err)
	}
	t.Skip("no kernel with soft-RoCE can be fetched here")
	return nil
}

// fabricIs has the fabric of a guest read back.
func fabricIs(t *testing.T, m *machine, want string) {
	t.Helper()
	if got, err := factorOf("guest.fabric").Get(t.Context(), factor.Env{Machine: m}); err != nil || got != want {
		t.Errorf("the fabric is %q, %v; want %q", got, err, want)
	}
}

// overFabric has a guest write to its disk over a fabric.
func overFabric(t *testing.T, b *testbed, fabric string) {
	t.Helper()
	m := b.vms.First()
	fabricIs(t, m, fabric)
	platformtest.Do(t, m, "mkdir", "-p", "--", b.Scratch())
	if err := m.WriteFile(t.Context(), b.Scratch()+"/kept", []byte("yes")); err != nil {
		t.Fatal(err)
	}
	caution, err := m.Caution(t.Context())
	if soft := strings.Contains(caution, "soft-RoCE"); err != nil || soft != (fabric == spec.OverRDMA) {
		t.Errorf("caution %q, %v", caution, err)
	}
	facts, err := m.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	described := ""
	for _, f := range facts {
		if f.Name == "guest.fabric" {
			described = f.Value
		}
	}
	if !strings.HasPrefix(described, "NVMe over "+fabric+" from a guest at 10.198.") {
		t.Errorf("the fabric is described as %q", described)
	}
	t.Log(described)
	seen, err := m.Sees(t.Context())
	if err != nil || seen[len(seen)-1] != (platform.Fact{Name: "Disk", Value: described}) {
		t.Errorf("the guest sees %v, %v; want its disk over the fabric at the end", seen, err)
	}
}

// withoutFabric has the guest read back on its own controller.
func withoutFabric(t *testing.T, b *testbed) {
	t.Helper()
	m := b.vms.First()
	if err := m.Reshape(func(g *spec.Guest) error { g.Fabric = spec.Unset; return nil }); err != nil {
		t.Fatal(err)
	}
	if got := platformtest.Do(t, m, "cat", b.Scratch()+"/kept"); got != "yes" {
		t.Errorf("on its controller the disk has %q", got)
	}
	fabricIs(t, m, spec.Unset)
	if folders, err := filepath.Glob(filepath.Join(b.home.Path, "*", "guest-*")); err != nil || len(folders) != 1 {
		t.Errorf("folders of guests: %v, %v; want only the guest's", folders, err)
	}
	i, err := m.instance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := provision.Detach(t.Context(), i.agent); err != nil {
		t.Errorf("nothing is attached: %v", err)
	}
}

// A kernel without the modules of a fabric is refused before anything boots, with the package that has them.
func TestFabricNeedsModules(t *testing.T) {
	k := guesttest.Kernel(t)
	s := supply.Supply{Agent: guesttest.Agent(t), Kernel: k}
	if err := s.HasFabric(spec.OverTCP); err != nil {
		t.Error(err)
	}
	if err := s.HasFabric(spec.Unset); err != nil {
		t.Error(err)
	}
	if !strings.Contains(k.Version, "-cloud-") {
		t.Skipf("kernel %s is not Debian's for VMs", k.Version)
	}
	err := s.HasFabric(spec.OverRDMA)
	if err == nil || !strings.Contains(err.Error(), "has no module rdma_rxe") && !strings.Contains(err.Error(), "has no module ib_") || !strings.Contains(err.Error(), "plimsoll guest kernel --package linux-image-") {
		t.Errorf("RDMA: %v", err)
	}
}
