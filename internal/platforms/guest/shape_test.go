package guest

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/factor/vm"
	"plimsoll/internal/guest/spec"
)

// Levels that do not go together with the rest of the guest are refused before it boots,
// with the reason.
func TestLevelsAreJudgedTogether(t *testing.T) {
	base := kind().Defaults.(spec.Guest)
	base.VCPUs, base.Accelerator = 2, "tcg"
	many := strconv.Itoa(runtime.NumCPU())
	for _, c := range []struct {
		factor, level, canonical, wrong string
		change                          func(*spec.Guest)
	}{
		{"guest.aio", "native", "native", "", nil},
		{"guest.aio", "native", "", "requires O_DIRECT", func(s *spec.Guest) { s.Cache = "writeback" }},
		{"guest.cache", "writeback", "writeback", "", nil},
		{"guest.cache", "never", "", "not a cache mode", nil},
		{"guest.io_filter", "null", "", "set cache: writeback", nil},
		{"guest.io_filter", "stats  daemon:null", "stats daemon:null", "", func(s *spec.Guest) { s.Cache = "writeback" }},
		{"guest.io_filter", "null", "", "set aio: threads", func(s *spec.Guest) { s.Cache, s.AIO = "writeback", "io_uring" }},
		{"guest.iothread", "true", "true", "", nil},
		{"guest.iothread", "true", "", "not supported by nvme", func(s *spec.Guest) { s.Controller = "nvme" }},
		{"guest.iothread", "yes", "", "must be true or false", nil},
		{"guest.queues", "2", "2", "", nil},
		{"guest.queues", "0", "", "from 1 to 64", nil},
		{"guest.storage", "dax", "", "pmem: 1GiB", nil},
		{"guest.storage", "dax", "dax", "", func(s *spec.Guest) { s.Pmem = 64 << 20 }},
		{"guest.storage", "pmem", "", "32MiB or more", func(s *spec.Guest) { s.Pmem = 2 << 20 }},
		{"guest.nodes", "2", "2", "", nil},
		{"guest.nodes", "2", "", "do not divide", func(s *spec.Guest) { s.VCPUs = 1 }},
		{"guest.nodes", "0", "", "must be a number of NUMA nodes", nil},
		{"guest.host_nodes", "0-1,1", "0-1", "", nil},
		{"guest.host_nodes", "all", "", "must be none", nil},
		{"guest.huge_pages", "2MiB", "2MiB", "", nil},
		{"guest.huge_pages", "4MiB", "", "must be none, 2MiB, 1GiB", nil},
		{"guest.huge_pages", "1GiB", "", "not a multiple of the huge page size", nil},
		{"guest.model", "Haswell-noTSX,-avx,l3-cache=off", "Haswell-noTSX,avx=off,l3-cache=off", "", nil},
		{"guest.model", "Haswell -s", "", "must be a CPU model", nil},
		{"guest.parameters", " a=1   b=2", "a=1 b=2", "", nil},
		{"guest.parameters", "none", "none", "", nil},
		{"guest.pin", "0", "0", "", nil},
		{"guest.pin", "4095", "", "not online", nil},
		{"guest.scheduler", "batch:5", "batch:5", "", nil},
		{"guest.scheduler", "fast", "", "must be other or batch", nil},
		{"guest.scheduler", "fifo", "", "would occupy all " + many + " CPUs", func(s *spec.Guest) { s.VCPUs = runtime.NumCPU() }},
	} {
		s := base
		if c.change != nil {
			c.change(&s)
		}
		b, _ := unbooted(t, s)
		m := b.vms.First()
		all := vm.Factors()
		f := all[slices.IndexFunc(all, func(f factor.Factor) bool { return f.Name == c.factor })]
		got, err := f.Check(t.Context(), factor.Env{Machine: m}, c.level)
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) || c.wrong == "" && (err != nil || got != c.canonical) {
			t.Errorf("%s at %q: %q, %v; want %q%s", c.factor, c.level, got, err, c.canonical, c.wrong)
		}
		if m.running != nil {
			t.Error("a guest was booted")
		}
	}
}
