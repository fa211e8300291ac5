package guest

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

// kind is the platform with this host.
func kind() platform.Kind { return Kind(local.Kind(), platform.Kind{}) }

func TestShape(t *testing.T) {
	base := kind().Defaults.(spec.Guest)
	with := func(change func(*spec.Guest)) spec.Guest {
		s := base
		change(&s)
		return s
	}
	for _, c := range []struct {
		name     string
		settings spec.Guest
		cpu      hardware.CPU
		nodes    int
		wrong    string
	}{
		{name: "as it comes", settings: base, cpu: hardware.CPU{Count: 1, Topology: hardware.Spread}},
		{name: "advised", settings: with(func(s *spec.Guest) { s.VCPUs, s.Topology = 8, "auto" }), cpu: hardware.CPU{Count: 8, Topology: hardware.Auto}},
		{name: "two sockets", settings: with(func(s *spec.Guest) { s.VCPUs, s.Topology = 8, "2x4" }), cpu: hardware.CPU{Count: 8, Topology: hardware.Explicit, Sockets: 2, Dies: 1, Cores: 4, Threads: 1}},
		{name: "threads", settings: with(func(s *spec.Guest) { s.VCPUs, s.Topology = 8, "1x4x2" }), cpu: hardware.CPU{Count: 8, Topology: hardware.Explicit, Sockets: 1, Dies: 1, Cores: 4, Threads: 2}},
		{name: "dies", settings: with(func(s *spec.Guest) { s.VCPUs, s.Topology = 8, "1x2x2x2" }), cpu: hardware.CPU{Count: 8, Topology: hardware.Explicit, Sockets: 1, Dies: 2, Cores: 2, Threads: 2}},
		{name: "nodes", settings: with(func(s *spec.Guest) { s.VCPUs, s.Nodes, s.Topology = 4, 2, "2x2" }), cpu: hardware.CPU{Count: 4, Topology: hardware.Explicit, Sockets: 2, Dies: 1, Cores: 2, Threads: 1}, nodes: 2},
		{name: "another number", settings: with(func(s *spec.Guest) { s.VCPUs, s.Topology = 4, "2x4" }), wrong: "has 8 vCPUs, and the guest has 4"},
		{name: "no numbers", settings: with(func(s *spec.Guest) { s.Topology = "wide" }), wrong: "must be spread, auto or numbers"},
		{name: "nought", settings: with(func(s *spec.Guest) { s.Topology = "0x4" }), wrong: "must be spread"},
		{name: "uneven nodes", settings: with(func(s *spec.Guest) { s.VCPUs, s.Nodes = 3, 2 }), wrong: "do not divide among 2 nodes"},
	} {
		shape, err := c.settings.Shape("guest")
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil || shape.CPU != c.cpu || len(shape.NUMA) != c.nodes || shape.Memory.Size != 256<<20 {
			t.Errorf("%s: %+v, %v", c.name, shape, err)
		}
	}
}

// Levels are judged by their form without a machine, and by this host with one; nothing
// boots for that.
func TestFactorsAreChecked(t *testing.T) {
	s := kind().Defaults.(spec.Guest)
	s.VCPUs = 4
	b, _ := unbooted(t, s)
	m := b.vms.First()
	for _, c := range []struct{ factor, level, canonical, wrong string }{
		{"guest.topology", "spread", "4x1", ""}, {"guest.topology", "2x2", "2x2", ""}, {"guest.topology", "1x4", "1x4", ""},
		{"guest.topology", "2x4", "", "has 8 vCPUs"}, {"guest.topology", "wide", "", "must be spread"},
		{"guest.vcpus", "8", "8", ""}, {"guest.vcpus", "many", "", "must be a number of vCPUs"}, {"guest.vcpus", "0", "", "must be a number"},
		{"guest.memory", "1024MiB", "1GiB", ""}, {"guest.memory", "much", "", "must be a size"},
		{"guest.memory", "900GiB", "", "more than this host has free"},
		{"guest.protection", "checkpoint:1s", "", "set io_filter: nbd"}, {"guest.protection", "always", "", "must be none, or checkpoint:INTERVAL"},
		{"guest.core_scheduling", "default", "default", ""}, {"guest.core_scheduling", "scav2", "", "must be default, one-thread-per-core or one-guest-per-core"},
		{"guest.controller", "nvme", "nvme", ""}, {"guest.controller", "ide", "", "not a controller"},
	} {
		var f factor.Factor
		for _, x := range vm.Factors() {
			if x.Name == c.factor {
				f = x
			}
		}
		got, err := f.Check(t.Context(), factor.Env{Machine: m}, c.level)
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && (err != nil || got != c.canonical) {
			t.Errorf("%s at %s: %q, %v", c.factor, c.level, got, err)
		}
		if _, err := f.Check(t.Context(), factor.Env{}, c.level); err != nil && c.wrong == "" {
			t.Errorf("%s at %s without a machine: %v", c.factor, c.level, err)
		}
		if !f.Restart {
			t.Errorf("%s does not say that a guest restarts for it", c.factor)
		}
	}
	if m.running != nil {
		t.Error("a guest was booted")
	}
}

// What guests boot from is missed before anything is made.
// Settings that exclude each other are found without a guest.
func TestSettingsThatExcludeEachOther(t *testing.T) {
	if err := kind().Possible(parameter.Settings{"aio": "native", "cache": "writeback"}); err == nil || !strings.Contains(err.Error(), "aio native with cache writeback") {
		t.Error(err)
	}
	for _, s := range []parameter.Settings{nil, {"aio": "native", "cache": "none"}, {"aio": "threads", "cache": "writeback", "queues": "2"}} {
		if err := kind().Possible(s); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// A policy for the threads of cores is refused where this host lacks it, with its remedy, and where a pin contradicts it.
func TestCoreScheduling(t *testing.T) {
	h, err := coresched.ThisHost()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range coresched.Policies() {
		want, got := p.Possible(h), kind().Possible(parameter.Settings{"core_scheduling": string(p)})
		if (want == nil) != (got == nil) || want != nil && got.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
	if err := kind().Possible(parameter.Settings{"core_scheduling": string(coresched.OneThread), "pin": "0"}); err == nil || !strings.Contains(err.Error(), "omit one of them") {
		t.Error(err)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for want, settings := range map[string]parameter.Settings{
		"plimsoll guest kernel": nil,
		"no/kernel":             {"kernel": "/no/kernel"},
		"has 8 vCPUs":           {"topology": "2x4"},
	} {
		if _, err := kind().Open(t.Context(), settings, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", settings, err, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// QEMU has the name of its machine, or one that it takes.
func TestTitle(t *testing.T) {
	for name, want := range map[string]string{
		"guest": "guest", "worker-2": "worker-2", "a-group-whose-name-is-long-3": "guest-7", "db_server-1": "guest-7", "a,b": "guest-7", "": "guest-7",
	} {
		if got := title(name, 7); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
