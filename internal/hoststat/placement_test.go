package hoststat_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/hoststattest"
)

// Where the memory of a large process lies is read on hosts of several NUMA nodes only, and not at
// each reading.
func TestPlacement(t *testing.T) {
	host := writer("2000", "1000")
	host["proc/7/stat"] = strings.Replace(host["proc/7/stat"], " 1000 50 0", " 1000 50000 0", 1) // pages in memory
	host["proc/7/numa_maps"] = "7f1200000000 default anon=30000 dirty=30000 N0=10000 N1=20000 kernelpagesize_kB=4\n"
	for n, nodes := range [][]string{{"0"}, {"0", "1"}} {
		files := recorded(host)
		for _, node := range nodes {
			files["sys/devices/system/node/node"+node+"/numastat"] = recorded(map[string]string{"x": "numa_hit 5\n"})["x"]
		}
		r := hoststat.NewReader(hoststattest.Tree(files))
		want := [][]float64{nil, {10000 * 4096, 20000 * 4096}}[n]
		for at := range 3 {
			if at == 2 {
				delete(files, "proc/7/numa_maps")
			}
			if p := r.Read(float64(20 * at)).Processes[0]; (at < 2 || n == 0) && !slices.Equal(p.NodeMemory, want) || at == 2 && p.NodeMemory != nil {
				t.Errorf("%d nodes, reading %d: %v, want %v", len(nodes), at, p.NodeMemory, want)
			}
		}
	}
}
