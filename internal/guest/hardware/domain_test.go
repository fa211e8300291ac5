package hardware

import (
	"encoding/xml"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// domains are shapes with the devices that libvirt has.
func domains() []given {
	s := shape(4)
	s.CPU.Model = "Skylake-Server-noTSX-IBRS,-avx512f,pmu=on"
	s.Disks = []Disk{
		{Name: "data", Size: gib, Controller: VirtioBlk, Backing: BackingFile, AIO: "native", IOThread: true, Queues: 4},
		{Name: "log", Size: gib, Controller: VirtioSCSI, Backing: BackingFile, Path: "/a&b.img", Cache: "writethrough", AIO: "io_uring", IOThread: true, Queues: 2},
		{Name: "plain", Size: gib, Controller: VirtioSCSI, Backing: BackingFile, Path: "/p.img", ReadOnly: true},
	}
	nodes := shape(2)
	nodes.NUMA = []Node{{CPUs: "0", Memory: 256 * mib}, {CPUs: "1", Memory: 256 * mib}}
	return []given{{"devices", s, wiring(TCG)}, {"nodes", nodes, wiring(KVM)}}
}

// Each shape that libvirt can have is written as it was; the others are refused by name.
func TestDomains(t *testing.T) {
	refused := map[string]string{}
	for _, g := range append(shapes(), domains()...) {
		text, err := g.s.Domain(g.w)
		if err != nil {
			refused[g.name] = err.Error()
			continue
		}
		if err := xml.Unmarshal([]byte(text), new(domain)); err != nil {
			t.Errorf("%s: %v", g.name, err)
		}
		golden := filepath.Join("testdata", "domain-"+g.name+".xml")
		if *update {
			if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("%v: write it with -update", err)
		}
		if d := cmp.Diff(string(want), text); d != "" {
			t.Errorf("%s: %s", g.name, d)
		}
	}
	for name, why := range refused {
		if !strings.Contains(why, "through libvirt") || !strings.Contains(why, "platform guest") {
			t.Errorf("%s is refused without a way out: %s", name, why)
		}
	}
	want := []string{"disks", "hugepages", "hugepages-numa", "incoming", "nics", "numa", "persistent", "virtual-time"}
	if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, want) {
		t.Errorf("refused are %v", got)
	}
	bad := shape(3)
	bad.CPU.Sockets = 2
	if _, err := bad.Domain(wiring(TCG)); err == nil {
		t.Error("a shape that QEMU is not given was written for libvirt")
	}
}

func TestDiskNames(t *testing.T) {
	for n, want := range map[int]string{0: "vda", 25: "vdz", 26: "vdaa", 27: "vdab", 702: "vdaaa"} {
		if got := letters("vd", n); got != want {
			t.Errorf("disk %d is %s, want %s", n, got, want)
		}
	}
}
