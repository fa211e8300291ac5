package guest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/platformtest"
)

// booted opens a guest whose agent is built from this source.
func booted(t *testing.T, change func(*spec.Guest)) *testbed {
	t.Helper()
	k := guesttest.Kernel(t)
	cache, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	s := kind().Defaults.(spec.Guest)
	s.Accelerator = "tcg"
	if change != nil {
		change(&s)
	}
	b, err := newTestbed(supply.Supply{Agent: guesttest.Agent(t), Kernel: k, Cache: cache}, s, local.Kind(), platform.Kind{})
	if err != nil {
		t.Fatal(err)
	}
	home := b.home
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(home.Path); err == nil {
			t.Errorf("%s is left", home.Path)
		}
		if out, err := exec.Command("pgrep", "-f", home.Path).Output(); err == nil {
			t.Errorf("processes are left: %s", out)
		}
	})
	return b
}

// A guest is a machine like any other; its shape changes when a factor is set, which is
// read back from what the guest sees of itself; its disk keeps what lies on it.
func TestAGuestIsAMachine(t *testing.T) {
	b := booted(t, func(s *spec.Guest) { s.VCPUs, s.Network = 2, true })
	m := b.Machine()
	run := func(argv ...string) string { t.Helper(); return platformtest.Do(t, m, argv...) }
	if got := run("nproc"); got != "2" {
		t.Errorf("%s vCPUs, want 2", got)
	}
	run("mkdir", "-p", "--", b.Scratch())
	if err := m.WriteFile(t.Context(), b.Scratch()+"/kept", []byte("yes")); err != nil {
		t.Fatal(err)
	}
	if space, err := m.(platform.Observer).Space(t.Context(), b.Scratch()); err != nil || space.Free < 3<<30 {
		t.Errorf("%+v, %v", space, err)
	}
	levels := map[string]string{"guest.topology": "1x2", "guest.memory": "384MiB", "guest.controller": "nvme", "guest.vcpus": "2", "guest.nic": "vmxnet3"}
	platformtest.SetAndReadBack(t, m, vm.Factors(), levels)
	archives, err := filepath.Glob(filepath.Join(b.home.Path, "initramfs-*"))
	if err != nil || len(archives) != 2 {
		t.Errorf("%d archives, %v: want one for each controller", len(archives), err)
	}
	for _, archive := range archives {
		if info, err := os.Stat(archive); err != nil || info.Size() > 12_500_000 { // the agent with all workloads, and drivers
			t.Errorf("%s has %d bytes, and may have 12.5 MB: %v", filepath.Base(archive), info.Size(), err)
		}
	}
	if got := run("cat", b.Scratch()+"/kept"); got != "yes" {
		t.Errorf("the disk kept %q", got)
	}
	d := m.(platform.Described)
	facts, err := d.Facts(t.Context())
	if err != nil || len(facts) < 5 {
		t.Errorf("%v, %v", facts, err)
	}
	seen, err := m.(platform.FactSource).Sees(t.Context())
	if err != nil || !slices.Contains(seen, platform.Fact{Name: "Core(s) per socket", Value: "2"}) || !slices.Contains(seen, platform.Fact{Name: "Socket(s)", Value: "1"}) {
		t.Errorf("it sees of itself %v, %v", seen, err)
	}
	if caution, err := d.Caution(t.Context()); err != nil || !strings.Contains(caution, "shapes and not speeds") {
		t.Errorf("%q, %v", caution, err)
	}
	comesBack(t, b.vms.First())
}

// comesBack: a guest that dies is booted again when it is next needed, with its workers confined as
// they were.
func comesBack(t *testing.T, m *machine) {
	t.Helper()
	if err := m.Confine(t.Context(), platform.Confinement{Affinity: "1"}); err != nil {
		t.Fatal(err)
	}
	first := m.running.qemu.Load().PID()
	process, err := os.FindProcess(first)
	if err != nil {
		t.Fatal(err)
	}
	far := m.running.agent
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-far.Done()
	if _, err := m.ReadFile(t.Context(), "/proc/uptime"); err != nil {
		t.Fatal(err)
	}
	if m.running.qemu.Load().PID() == first {
		t.Error("it is the same guest")
	}
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"nproc"}, Worker: true})
	if err != nil || strings.TrimSpace(string(r.Stdout)) != "1" || m.Confinement().Affinity != "1" {
		t.Errorf("its workers see %s CPUs, %v; they were confined to one", r.Stdout, err)
	}
}
