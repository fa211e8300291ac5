package guest

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
)

func TestRoutes(t *testing.T) {
	for text, want := range map[string]string{
		"": "none", "none": "none", "nbd": "nbd", "null": "null", " daemon:null  stats ": "daemon:null stats", "delay:1ms": "delay:1ms",
		"nbdkit": "nbdkit", "nbdkit:nofilter": "nbdkit:nofilter", "nbdkit:delay:1ms nbdkit:stats": "nbdkit:delay:1ms nbdkit:stats",
	} {
		r, err := parseRoute(text)
		if err != nil || r.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want)
		}
		if r.server == nbdkit {
			if back := kitRoute(append([]string{"nbdkit"}, r.kitArguments("/s", "/f")...)); back.String() != want {
				t.Errorf("%q is read back as %q", text, back)
			}
		}
	}
	for text, want := range map[string]string{
		"sieve": "none of null", "null none": "none of null", "nbdkit:eval": "none of nbdkit:nofilter", "nbdkit:delay": "delay has a time", "nbdkit:stats:x": "no other filter has one",
		"nbdkit:nofilter null": "none of nbdkit:nofilter", "nbdkit:delay:soon": "a delay is a time", "delay:2h": "up to a minute",
	} {
		if r, err := parseRoute(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", text, r, err, want)
		}
	}
}

func FuzzParseRoute(f *testing.F) {
	for _, text := range []string{"none", "nbd", "null stats", "nbdkit:delay:1ms nbdkit:nofilter", "daemon:delay:2ms"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRoute(text)
		if err != nil {
			return
		}
		if again, err := parseRoute(r.String()); err != nil || again.String() != r.String() {
			t.Errorf("%q is %q, which is %q, %v", text, r, again, err)
		}
	})
}

func TestPins(t *testing.T) {
	for _, c := range []struct {
		pin, want string
		vcpus     int
	}{{"none", "none", 2}, {"", "none", 2}, {"0-1", "0-1", 2}, {"0,1", "0-1", 2}, {"0/1", "0/1", 2}, {"1/1", "1", 2}, {"0 / 1,0", "0/0-1", 2}} {
		lists, err := Settings{Pin: c.pin, VCPUs: c.vcpus}.pins()
		if err != nil || pinText(lists) != c.want || len(lists) != 0 && len(lists) != c.vcpus {
			t.Errorf("%q: %v, %v; want %s", c.pin, lists, err, c.want)
		}
	}
	for pin, want := range map[string]string{"0/1/2": "CPUs for 3 vCPUs, and the guest has 2", "x": "no list of CPUs", "0/": "no CPU"} {
		if lists, err := (Settings{Pin: pin, VCPUs: 2}).pins(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", pin, lists, err, want)
		}
	}
}

func TestParametersAreReadBack(t *testing.T) {
	const line = "console=ttyS0 quiet mitigations=off plimsoll.name=guest mitigations=auto a=1\n"
	for _, c := range []struct{ asked, want string }{
		{"", "none"}, {"mitigations=auto a=1", "mitigations=auto a=1"}, {"a=1 mitigations=auto", "a=1 mitigations=auto"}, {"b=2 a=1", "a=1"}, {"b=2", "none"},
	} {
		if got := parametersSeen(line, strings.Fields(c.asked)); got != c.want {
			t.Errorf("%q is read back as %q, want %q", c.asked, got, c.want)
		}
	}
}

// Levels that do not go together with the rest of the guest are refused before it boots,
// with the reason.
func TestLevelsAreJudgedTogether(t *testing.T) {
	base := Kind().Defaults.(Settings)
	base.VCPUs, base.Accelerator = 2, "tcg"
	many := strconv.Itoa(runtime.NumCPU())
	for _, c := range []struct {
		factor, level, canonical, wrong string
		change                          func(*Settings)
	}{
		{"guest.aio", "native", "native", "", nil},
		{"guest.aio", "native", "", "opened past the page cache", func(s *Settings) { s.Cache = "writeback" }},
		{"guest.cache", "writeback", "writeback", "", nil},
		{"guest.cache", "never", "", "no cache mode", nil},
		{"guest.io_filter", "null", "", "set cache: writeback", nil},
		{"guest.io_filter", "stats  daemon:null", "stats daemon:null", "", func(s *Settings) { s.Cache = "writeback" }},
		{"guest.io_filter", "null", "", "set aio: threads", func(s *Settings) { s.Cache, s.AIO = "writeback", "io_uring" }},
		{"guest.iothread", "true", "true", "", nil},
		{"guest.iothread", "true", "", "QEMU has none for nvme", func(s *Settings) { s.Controller = "nvme" }},
		{"guest.iothread", "yes", "", "want true or false", nil},
		{"guest.queues", "2", "2", "", nil},
		{"guest.queues", "0", "", "want 1 to 64", nil},
		{"guest.storage", "dax", "", "pmem: 1GiB", nil},
		{"guest.storage", "dax", "dax", "", func(s *Settings) { s.Pmem = 64 << 20 }},
		{"guest.storage", "pmem", "", "32MiB or more", func(s *Settings) { s.Pmem = 2 << 20 }},
		{"guest.nodes", "2", "2", "", nil},
		{"guest.nodes", "2", "", "do not divide", func(s *Settings) { s.VCPUs = 1 }},
		{"guest.nodes", "0", "", "no number of NUMA nodes", nil},
		{"guest.host_nodes", "0-1,1", "0-1", "", nil},
		{"guest.host_nodes", "all", "", "want none", nil},
		{"guest.huge_pages", "2MiB", "2MiB", "", nil},
		{"guest.huge_pages", "4MiB", "", "want none, 2MiB, 1GiB", nil},
		{"guest.huge_pages", "1GiB", "", "no whole number of huge pages", nil},
		{"guest.model", "Haswell-noTSX,-avx,l3-cache=off", "Haswell-noTSX,avx=off,l3-cache=off", "", nil},
		{"guest.model", "Haswell -s", "", "no CPU model", nil},
		{"guest.parameters", " a=1   b=2", "a=1 b=2", "", nil},
		{"guest.parameters", "none", "none", "", nil},
		{"guest.pin", "0", "0", "", nil},
		{"guest.pin", "4095", "", "not online", nil},
		{"guest.scheduler", "batch:5", "batch:5", "", nil},
		{"guest.scheduler", "fast", "", "want other or batch", nil},
		{"guest.scheduler", "fifo", "", "would keep all " + many + " CPUs", func(s *Settings) { s.VCPUs = runtime.NumCPU() }},
	} {
		s := base
		if c.change != nil {
			c.change(&s)
		}
		m := &machine{settings: s}
		all := Factors()
		f := all[slices.IndexFunc(all, func(f factor.Factor) bool { return f.Name == c.factor })]
		got, err := f.Check(t.Context(), factor.Place{Machine: m}, c.level)
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && (err != nil || got != c.canonical) {
			t.Errorf("%s at %q: %q, %v; want %q%s", c.factor, c.level, got, err, c.canonical, c.wrong)
		}
		if m.vm != nil {
			t.Error("a guest was booted")
		}
	}
}

// What lies between the disk and its file decides what QEMU is given.
func TestTheDiskOfARoute(t *testing.T) {
	s := Kind().Defaults.(Settings)
	if d := s.dataDisk("/f"); d.Backing != qemu.BackingFile || d.Path != "/f/"+dataImage || d.AIO != "threads" {
		t.Errorf("%+v", d)
	}
	s.IOFilter = "null"
	if d := s.dataDisk("/f"); d.Backing != qemu.BackingNBD || d.Path != "" || d.AIO != "" || d.Socket != "/f/"+diskSocket {
		t.Errorf("%+v", d)
	}
}

// A server that does not come up says why, and leaves nothing.
func TestAServerThatDoesNotComeUp(t *testing.T) {
	dir := t.TempDir()
	r, err := parseRoute("null")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serveDisk(t.Context(), r, "/bin/false", filepath.Join(dir, "s"), filepath.Join(dir, "f")); err == nil || !strings.Contains(err.Error(), "serve the guest's disk by null") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if s, err := serveDisk(t.Context(), route{server: noServer}, "", "", ""); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
}
