package libvirt

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

func TestShape(t *testing.T) {
	s := Kind().Defaults.(Settings)
	s.VCPUs, s.Topology, s.Nodes, s.Parameters = 4, "2x2", 2, "mitigations=auto quiet"
	shape, err := s.Shape("web")
	if err != nil || shape.CPU != (hardware.CPU{Count: 4, Topology: hardware.Explicit, Sockets: 2, Dies: 1, Cores: 2, Threads: 1}) || len(shape.NUMA) != 2 ||
		shape.NUMA[1].CPUs != "2-3" || shape.NUMA[1].Memory != 128<<20 || len(shape.Parameters) != 2 {
		t.Errorf("%+v, %v", shape, err)
	}
	for want, change := range map[string]func(*Settings){
		"has 8 vCPUs":                     func(s *Settings) { s.Topology = "2x4" },
		"do not divide among 3 nodes":     func(s *Settings) { s.Nodes = 3 },
		"must be spread, auto or numbers": func(s *Settings) { s.Topology = "wide" },
	} {
		bad := s
		change(&bad)
		if _, err := bad.Shape("web"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What is missing is said before anything is made.
func TestWhatIsMissingIsNamed(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("LIBVIRT_DEFAULT_URI", "")
	for want, settings := range map[string]parameter.Settings{
		"plimsoll guest kernel": nil,
		"has 8 vCPUs":           {"topology": "2x4"},
		"virtio-blk":            {"controller": "nvme"},
		"start its daemon":      {"domain": "db1", "uri": "qemu+unix:///system?socket=" + dir + "/none"},
		"ssh -L":                {"domain": "db1", "uri": "qemu+tls://host/system"},
	} {
		if _, err := Kind().Open(t.Context(), settings, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", settings, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestADomainIsRead(t *testing.T) {
	d, err := readDocument(`<domain type='kvm'><name>db1</name><vcpu placement='static'>8</vcpu>
<cpu><topology sockets='2' dies='1' cores='2' threads='2'/><numa><cell id='0'/><cell id='1'/></numa></cpu>
<devices><channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel><channel type='spicevmc'><target type='virtio' name='com.redhat.spice.0'/></channel>
<channel type='unix'><target type='guestfwd' address='10.0.2.1' port='4600'/></channel></devices></domain>`)
	if err != nil || d.Type != "kvm" || d.VCPUs != 8 || d.Topology.Cores != 2 || len(d.Cells) != 2 || strings.Join(d.channels(), " ") != "org.qemu.guest_agent.0 com.redhat.spice.0" {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := readDocument("<domain"); err == nil {
		t.Error("half a document was read")
	}
}

// Levels are judged by their form without a machine, and by this host with one; nothing
// boots for that.
func TestFactorsAreChecked(t *testing.T) {
	s := Kind().Defaults.(Settings)
	s.VCPUs = 4
	m := &machine{Next: spec.NewNext(machineName, s.Guest)}
	for _, c := range []struct{ factor, level, canonical, wrong string }{
		{"guest.topology", "spread", "4x1", ""}, {"guest.topology", "2x2", "2x2", ""},
		{"guest.topology", "2x4", "", "has 8 vCPUs"}, {"guest.topology", "wide", "", "must be spread"},
		{"guest.vcpus", "8", "8", ""}, {"guest.vcpus", "many", "", "must be a number of vCPUs"},
		{"guest.memory", "1024MiB", "1GiB", ""}, {"guest.memory", "much", "", "must be a size"},
		{"guest.controller", "virtio-scsi", "virtio-scsi", ""}, {"guest.controller", "nvme", "", "unsupported controller"},
	} {
		for _, f := range vm.Factors() {
			if f.Name != c.factor {
				continue
			}
			got, err := f.Check(t.Context(), factor.Env{Machine: m}, c.level)
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && (err != nil || got != c.canonical) {
				t.Errorf("%s at %s: %q, %v", c.factor, c.level, got, err)
			}
			if c.wrong != "" {
				continue
			}
			if err := f.Set(t.Context(), factor.Env{Machine: m}, c.level); err != nil {
				t.Errorf("%s at %s: %v", c.factor, c.level, err)
			}
		}
	}
	if got := m.Spec(); got.VCPUs != 8 || got.Memory != 1<<30 || got.Controller != "virtio-scsi" {
		t.Errorf("the guest is to be %+v", got)
	}
	if m.running != nil {
		t.Error("a guest was booted")
	}
}

// A machine has what trials, collectors and services ask for.
var (
	_ interface {
		platform.Machine
		platform.Carrier
		platform.Confiner
		platform.Observer
		platform.Described
		platform.Hosted
		platform.Dialer
	} = &machine{}
	_ interface {
		platform.Machine
		platform.Confiner
		platform.Described
		platform.Hosted
		platform.Dialer
	} = &resident{}
	_ platform.ScratchProvider = &testbed{}
)
