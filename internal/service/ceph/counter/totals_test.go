package counter

import (
	"math"
	"testing"
)

func TestSlowestOSD(t *testing.T) {
	at := func(count, seconds float64) map[string]float64 {
		return map[string]float64{"ceph.commits.count": count, "ceph.commits.time": seconds}
	}
	before := map[int]map[string]float64{0: at(10, 1), 1: at(0, 0), 3: at(5, 100)}
	after := map[int]map[string]float64{0: at(110, 1.2), 1: at(100, .3), 2: at(100, .9), 3: at(9, 200)}
	osd, ratio, ok := outlier(before, after)
	if !ok || osd != 2 || math.Abs(ratio-3) > 1e-9 { // 2, 3 and 9 ms; the last has too few commits
		t.Errorf("got osd.%d, %v times the median, %v", osd, ratio, ok)
	}
	delete(after, 0)
	if _, _, ok := outlier(before, after); ok {
		t.Error("two OSDs have no median that one of them could exceed")
	}
	for n, seconds := range []float64{.1, .1, .5} {
		after[n] = map[string]float64{"ceph.device_reads.count": 100, "ceph.device_reads.time": seconds}
	}
	if osd, ratio, ok := outlier(nil, after); !ok || osd != 2 || math.Abs(ratio-5) > 1e-9 {
		t.Errorf("got osd.%d, %v times the median reads, %v", osd, ratio, ok)
	}
	if _, _, ok := outlier(nil, nil); ok {
		t.Error("no OSD is slowest")
	}
}

// Sums do not run backwards when an OSD is away, or starts anew.
func TestTotalsOnlyGrow(t *testing.T) {
	at := func(operations, resident float64) map[string]float64 {
		return map[string]float64{"ceph.commits.count": operations, "ceph.resident": resident}
	}
	c := &Totals{}
	for i, step := range []struct {
		read           map[int]map[string]float64
		pid            string // of osd.1
		count, held, n float64
	}{
		{map[int]map[string]float64{0: at(10, 1), 1: at(20, 2)}, "2", 30, 3, 2},
		{map[int]map[string]float64{0: at(15, 1)}, "2", 35, 1, 1},               // osd.1 is away
		{map[int]map[string]float64{0: at(16, 1), 1: at(23, 5)}, "3", 59, 6, 2}, // and starts anew
		{map[int]map[string]float64{0: at(17, 1), 1: at(30, 5)}, "3", 67, 6, 2}, // and goes on
	} {
		all := c.Add(step.read, map[int]string{0: "1", 1: step.pid})
		if all["ceph.commits.count"] != step.count || all["ceph.resident"] != step.held || all["ceph.up"] != step.n {
			t.Errorf("step %d: got %v", i, all)
		}
	}
}
