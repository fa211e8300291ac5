package guest_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/guest/spec"
)

// What no checkpoint covers is refused, with the remedy.
func TestProtectionOfSettings(t *testing.T) {
	sound := spec.Guest{VCPUs: 1, Topology: "spread", Nodes: 1, Memory: 256 << 20, IOFilter: "nbd", Cache: "writeback", AIO: "threads", Protection: "checkpoint:100ms"}
	shape, err := sound.Shape("vm")
	if err != nil || !shape.Memory.Shared || sound.MostMemory() != 3*256<<20 {
		t.Errorf("%+v, %v, %d", shape.Memory, err, sound.MostMemory())
	}
	if every, err := sound.Checkpoints(); every != 100*time.Millisecond || err != nil {
		t.Errorf("%v, %v", every, err)
	}
	for want, change := range map[string]func(*spec.Guest){
		"set io_filter: nbd":                   func(g *spec.Guest) { g.IOFilter = "none" },
		"set io_filter: nbd and cache":         func(g *spec.Guest) { g.IOFilter = "nbdkit" },
		"omit pmem":                            func(g *spec.Guest) { g.Pmem = 1 << 30 },
		"omit nodes":                           func(g *spec.Guest) { g.VCPUs, g.Nodes = 2, 2 },
		"omit huge_pages":                      func(g *spec.Guest) { g.HugePages = "2MiB" },
		"omit host_nodes":                      func(g *spec.Guest) { g.HostNodes = "0" },
		"omit virtual_time":                    func(g *spec.Guest) { g.VirtualTime = 3 },
		"must be none, or checkpoint:INTERVAL": func(g *spec.Guest) { g.Protection = "100ms" },
		"with 10ms to 10s":                     func(g *spec.Guest) { g.Protection = "checkpoint:1ms" },
		`"checkpoint:1m"`:                      func(g *spec.Guest) { g.Protection = "checkpoint:1m" },
		`"checkpoint:"`:                        func(g *spec.Guest) { g.Protection = "checkpoint:" },
	} {
		g := sound
		change(&g)
		if _, err := g.Shape("vm"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", g, err, want)
		}
	}
	for _, none := range []string{"", "none"} {
		g := sound
		g.Protection = none
		if shape, err := g.Shape("vm"); err != nil || shape.Memory.Shared || g.MostMemory() != 256<<20 {
			t.Errorf("protection %q: %+v, %v", none, shape.Memory, err)
		}
	}
}
