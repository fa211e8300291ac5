package vsphere

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
	"plimsoll/internal/vsphere/vspheretest"
)

// A VM is deployed to a simulated vCenter, whose VMs have a real life in QEMU: the disks that were
// uploaded boot, the agent joins, and what factors set is read back in the guest and from the
// vCenter.
func TestRealVMs(t *testing.T) {
	guesttest.Firmware(t)
	k := guesttest.Kernel(t)
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is missing (./setup test installs it)")
	}
	url, model := center(t)
	stop := alive(t, model, vspheretest.KeepUploads(model))
	s := defaults()
	s.URL, s.Listen, s.Lab = url, "127.0.0.1:0", "10.0.2.2" // which is this machine in QEMU's network
	s.DRS, s.Hardware = false, "vmx-20"
	s.VCPUs, s.Memory, s.DiskSize, s.Boot = 2, 384<<20, 64<<20, parameter.Duration(4*time.Minute)
	b, err := newTestbed(t.Context(), s, supply.Supply{Agent: guesttest.Agent(t), Kernel: k, Cache: cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	m := b.Machine().(*machine)
	varies(t, b, m)
	facts, err := m.Facts(t.Context())
	if err != nil || !slices.ContainsFunc(facts, func(f platform.Fact) bool { return f.Name == "vsphere.host" && f.Value != "" }) {
		t.Errorf("%v, %v", facts, err)
	}
	t.Log(facts)
	if address, err := m.Address(t.Context()); err != nil || address != "127.0.0.1" { // QEMU's network hides the guest's
		t.Errorf("the address is %q, %v", address, err)
	}
	if os.Getenv("PLIMSOLL_DEEP") != "" {
		several(t, b)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, pc := range stop() {
		t.Logf("booted: %+v", pc)
	}
	if _, err := os.Stat(b.home.Path); err == nil {
		t.Errorf("%s is left", b.home.Path)
	}
	nothing(t, model, os.Getenv("XDG_STATE_HOME"))
}

// several has a group of two VMs, and one of them removed.
func several(t *testing.T, b *testbed) {
	t.Helper()
	g := platform.Group{Name: "client", Machines: 2, Settings: parameter.Settings{"vcpus": "1", "memory": "256MiB"}}
	all, err := platform.MembersOf(t.Context(), b, g)
	if err != nil || len(all) != 2 || all[1].Name() != "client-2" {
		t.Fatalf("%v, %v", all, err)
	}
	for _, m := range all {
		if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat", "/proc/sys/kernel/hostname"}}); err != nil || strings.TrimSpace(string(r.Stdout)) != m.Name() {
			t.Errorf("%s is called %q, %v", m.Name(), r.Stdout, err)
		}
	}
	g.Machines = 1
	if left, err := platform.MembersOf(t.Context(), b, g); err != nil || len(left) != 1 || left[0] != all[0] {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := all[1].ReadFile(t.Context(), "/proc/uptime"); err == nil || !strings.Contains(err.Error(), "has ended it") {
		t.Errorf("a VM that was removed: %v", err)
	}
	g.Settings["disk"] = "1GiB"
	if _, err := b.Members(t.Context(), g); err == nil || !strings.Contains(err.Error(), "the same for all groups") {
		t.Errorf("a disk of its own: %v", err)
	}
}

// cache is the folder of the disk with programs, which is kept between runs.
func cache(t *testing.T) string {
	t.Helper()
	folder, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// varies runs commands in a VM and changes its shape.
func varies(t *testing.T, b *testbed, m *machine) {
	t.Helper()
	run := func(argv ...string) string { t.Helper(); return platformtest.Do(t, m, argv...) }
	if got := run("nproc"); got != "2" {
		t.Errorf("%s vCPUs, want 2", got)
	}
	if got := run("cat", "/proc/sys/kernel/hostname"); got != machineName {
		t.Errorf("the guest is called %s", got)
	}
	run("mkdir", "-p", "--", b.Scratch())
	if err := m.WriteFile(t.Context(), b.Scratch()+"/kept", []byte("yes")); err != nil {
		t.Fatal(err)
	}
	for _, levels := range []map[string]string{
		{"guest.topology": "spread", "guest.controller": "pvscsi", "guest.nic": "vmxnet3", "guest.memory": "384MiB", "guest.nodes": "1"},
		{
			"guest.vcpus": "4", "guest.topology": "2x2", "guest.nodes": "2", "guest.memory": "512MiB", "guest.controller": "nvme", "guest.cpu_shares": "3000",
			"guest.cpu_reservation": "500", "guest.memory_reservation": "512MiB", "guest.latency_sensitivity": "high",
		},
	} {
		platformtest.SetAndReadBack(t, m, vm.Factors(), levels)
	}
	if got := run("cat", b.Scratch()+"/kept"); got != "yes" {
		t.Errorf("the disk kept %q", got)
	}
	if err := m.Limits(spec.Guest{VCPUs: 1, Nodes: 1, Topology: "spread", Memory: 256 << 20, Controller: "sata", NIC: "vmxnet3"}); err == nil || !strings.Contains(err.Error(), "ahci") {
		t.Errorf("a driver that the kernel lacks: %v", err)
	}
}
