package guest_test

import (
	"strings"
	"testing"

	"plimsoll/internal/guest/spec"
)

// What a disk over a fabric does not have is refused, with the remedy.
func TestFabricOfSettings(t *testing.T) {
	sound := spec.Guest{VCPUs: 2, Topology: "spread", Nodes: 1, Memory: 256 << 20, Network: true, AIO: "threads", Storage: spec.OnDisk, Fabric: spec.OverTCP}
	if _, err := sound.Shape("vm"); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*spec.Guest){
		"set network: true": func(g *spec.Guest) { g.Network = false },
		"set backing: file": func(g *spec.Guest) { g.Backing = spec.ImageBacking },
		"set storage: disk": func(g *spec.Guest) { g.Storage, g.Pmem = spec.OnDAX, 1<<30 },
		"omit protection":   func(g *spec.Guest) { g.Protection, g.IOFilter = "checkpoint:100ms", "nbd" },
		"omit virtual_time": func(g *spec.Guest) { g.VCPUs, g.VirtualTime = 1, 3 },
	} {
		for _, fabric := range []string{spec.OverTCP, spec.OverRDMA} {
			g := sound
			g.Fabric = fabric
			change(&g)
			if _, err := g.Shape("vm"); err == nil || !strings.Contains(err.Error(), "fabric "+fabric+": ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", g, err, want)
			}
			g.Fabric = spec.Unset
			if _, err := g.Shape("vm"); err != nil {
				t.Errorf("without a fabric: %v", err)
			}
		}
	}
}

// The VM that exports the disk has the settings of the disk, and nothing of the other.
func TestTargetOfAFabric(t *testing.T) {
	g := spec.Guest{
		VCPUs: 4, Topology: "2x2", Nodes: 2, Memory: 512 << 20, HugePages: "2MiB", Pin: "0/1/2/3", Scheduler: "idle", Parameters: "quiet", Pmem: 1 << 30, Storage: spec.OnDisk,
		Network: true, Fabric: spec.OverRDMA, DiskSize: 2 << 30, Controller: "nvme", Cache: "writeback", AIO: "threads", Queues: 1, IOFilter: "null", NIC: "e1000e",
	}
	target := g.Target()
	shape, err := target.Shape("target")
	if err != nil || target.OverFabric() || len(shape.Persistent) > 0 || len(shape.NUMA) > 0 || len(shape.Pin) > 0 || shape.CPU.Count != 1 || shape.Memory.HugePage != 0 {
		t.Errorf("%+v, %v", shape, err)
	}
	if target.Disk("/x") != g.Disk("/x") || target.NIC != g.NIC || !target.Network {
		t.Errorf("%+v", target)
	}
	g.HugePages = spec.Unset
	if more := g.MostMemory() - int64(g.Memory); more != int64(target.Memory) {
		t.Errorf("the target takes %d bytes of the host, want %d", more, target.Memory)
	}
}
