package numa

import (
	"math"
	"os"
	"slices"
	"testing"
)

const maps = "55d0c8a00000 default file=/usr/sbin/db mapped=10 N0=4 N1=6 kernelpagesize_kB=4\n" +
	"7f1200000000 bind:1 anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n" +
	"7f1300000000 default heap anon=3 dirty=3 N0=3 kernelpagesize_kB=4\n" +
	"7f1400000000 default stack\n"

func TestParseMaps(t *testing.T) {
	if got, want := ParseMaps([]byte(maps)), []float64{7 * 4096, 6*4096 + 4<<20}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Samples are spread over the regions that hold data, by their size.
func TestSample(t *testing.T) {
	pages := sample([]byte("1000000-1400000 rw-p 00000000 00:00 0 [heap]\n2000000-2100000 r-xp 00000000 00:00 0 /bin/db\n8000000-b000000 rw-s 0 0:0 0\n9000000 rw-p\n"))
	small := 0
	for _, p := range pages {
		if p%4096 != 0 || (p < 0x1000000 || p >= 0x1400000) && (p < 0x8000000 || p >= 0xb000000) {
			t.Errorf("page %x", p)
		}
		if p < 0x1400000 {
			small++
		}
	}
	if len(pages) != samples || math.Abs(float64(small)-samples/13.) > 2 {
		t.Errorf("%d pages, %d of them in the small region", len(pages), small)
	}
	if few := sample([]byte("1000000-1002000 rw-p\n")); len(few) != 2 || few[0] == few[1] {
		t.Errorf("two pages: %x", few)
	}
}

// The sample of this process agrees with the walk over all its pages.
func TestShares(t *testing.T) {
	held := slices.Repeat([]byte{1}, 256<<20)
	regions, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("/proc/self/numa_maps")
	if err != nil {
		t.Skip("a kernel without NUMA: ", err)
	}
	shares, err := Shares(os.Getpid(), regions)
	if err != nil {
		t.Skip("pages cannot be sampled here: ", err)
	}
	memory, total := ParseMaps(all), 0.
	for _, bytes := range memory {
		total += bytes
	}
	if total < float64(len(held)) {
		t.Errorf("%v bytes in memory, want %d at least", total, len(held))
	}
	for node := range memory {
		if share := memory[node] / total; math.Abs(share-shares[node]) > .1 {
			t.Errorf("node %d: %v of the pages, %v of the sample", node, share, shares[node])
		}
	}
	if _, err := Shares(1<<30, regions); err == nil {
		t.Error("no error for a process that does not exist")
	}
}

func FuzzMaps(f *testing.F) {
	f.Add([]byte(maps))
	f.Add([]byte("1000-ffffffffffffffff rw-p\n2000-3000 rw-p\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, bytes := range ParseMaps(text) {
			if bytes < 0 {
				t.Error(bytes)
			}
		}
		if pages := sample(text); len(pages) > samples {
			t.Errorf("%d pages", len(pages))
		}
	})
}
