package hoststat

import (
	"os"
	"slices"
	"testing"
)

const (
	zoneinfo = "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 5\n  pages free     100\n        boost    0\n        min      2\n        low      3\n        high     4\n        spanned  4095\n" +
		"        managed  200\n        protection: (0, 3019)\n      nr_free_pages 100\n  pagesets\n    cpu: 0\n              count:    7\n              high:     9\n" +
		"Node 1, zone   Normal\n  pages free     50\n        min      20\n        low      30\n        high     40\n        managed  1000\n"
	buddyinfo = "Node 0, zone      DMA     10      5      0      1 \nNode 1, zone   Normal      1      0      0      2 \nNode 2, zone   Normal      1      1      1      1 \n"
)

func TestZones(t *testing.T) {
	page := float64(os.Getpagesize())
	all := parseZones([]byte(zoneinfo))
	parseBlocks([]byte(buddyinfo), all, 2*page)
	want := []Zone{
		{Node: 0, Name: "DMA", Managed: 200 * page, Free: 100 * page, Low: 3 * page, High: 4 * page, Blocks: 18 * page},
		{Node: 1, Name: "Normal", Managed: 1000 * page, Free: 50 * page, Low: 30 * page, High: 40 * page, Blocks: 16 * page},
	}
	if !slices.Equal(all, want) {
		t.Errorf("zones %+v, want %+v", all, want)
	}
}

// Zones of this host are read once allocations had to wait, and not before.
func TestZonesWhenAllocationsWait(t *testing.T) {
	r := NewReader(Local())
	for at, c := range []struct {
		stalls float64
		read   bool
	}{{5, false}, {5, false}, {6, true}, {6, true}, {7, true}, {7, true}} {
		s := &State{At: float64(at), VM: map[string]float64{"allocstall_normal": c.stalls}, Memory: map[string]float64{"Hugepagesize": 2 << 20}}
		if err := readZones(r, s); err != nil {
			t.Fatal(err)
		}
		if (len(s.Zones) > 0) != c.read {
			t.Errorf("reading %d: zones %+v", at, s.Zones)
		}
	}
	late := &State{At: 100, VM: map[string]float64{"allocstall_normal": 7}}
	if err := readZones(r, late); err != nil || late.Zones != nil {
		t.Errorf("zones long after: %+v, %v", late.Zones, err)
	}
}

func FuzzZones(f *testing.F) {
	f.Add([]byte(zoneinfo), []byte(buddyinfo))
	f.Fuzz(func(t *testing.T, zones, blocks []byte) {
		all := parseZones(zones)
		parseBlocks(blocks, all, 4096)
		for _, z := range all {
			if z.Free < 0 || z.Blocks < 0 || z.Node >= mostNodes {
				t.Errorf("%+v", z)
			}
		}
	})
}
