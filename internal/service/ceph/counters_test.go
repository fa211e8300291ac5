package ceph

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// The recorded answer is of an OSD of Ceph 16.2.15 with 25 placement groups.
func TestCountersOfARecordedOSD(t *testing.T) {
	text, err := os.ReadFile("testdata/perf-dump.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dump
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	d.take(all)
	for _, c := range osdCounters() {
		if _, ok := all[c.metric.Name]; !ok {
			t.Errorf("%s is missing: no %s.%s", c.metric.Name, c.section, c.name)
		}
	}
	if all["ceph.commits.count"] <= 0 || all["ceph.commits.time"] <= 0 || all["ceph.allocated"] <= 0 {
		t.Errorf("got %v", all)
	}
	once := all["ceph.commits.time"]
	if d.take(all); all["ceph.commits.time"] != 2*once {
		t.Errorf("two OSDs have %v, one %v", all["ceph.commits.time"], once)
	}
}

// Waits for all throttles add up, and so do the writes that BlueStore issues: blobs, deferred writes, and those of its logs.
func TestCountersThatAddUp(t *testing.T) {
	var d dump
	if err := json.Unmarshal([]byte(`{
		"throttle-osd_client_bytes": {"val": 7, "wait": {"avgcount": 3, "sum": 0.5, "avgtime": 0.16}}, "throttle-bluestore_throttle_bytes": {"wait": {"avgcount": 1, "sum": 0.25}},
		"bluestore": {"bluestore_write_new": 448, "bluestore_write_small_unused": 2, "deferred_write_ops": 298, "kv_commit_lat": {"avgcount": 30, "sum": 1}}, "bluefs": {"logged_bytes": 122880}
	}`), &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	d.take(all)
	for name, want := range map[string]float64{"ceph.throttle.count": 4, "ceph.throttle.time": .75, "ceph.device_writes.count": 448 + 2 + 298 + 30 + 30} {
		if all[name] != want {
			t.Errorf("%s is %v, want %v", name, all[name], want)
		}
	}
}

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
	if _, _, ok := outlier(nil, nil); ok {
		t.Error("no OSD is slowest")
	}
}

// Sums do not run backwards when an OSD is away, or starts anew.
func TestTotalsOnlyGrow(t *testing.T) {
	at := func(operations, resident float64) map[string]float64 {
		return map[string]float64{"ceph.commits.count": operations, "ceph.resident": resident}
	}
	c := &totals{}
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
		all := c.total(step.read, map[int]string{0: "1", 1: step.pid})
		if all["ceph.commits.count"] != step.count || all["ceph.resident"] != step.held || all["ceph.up"] != step.n {
			t.Errorf("step %d: got %v", i, all)
		}
	}
}

func FuzzDump(f *testing.F) {
	f.Add([]byte(`{"osd": {"op": 1, "op_w_latency": {"avgcount": 2, "sum": 0.5, "avgtime": 0.25}, "histogram": [[1]]}}`))
	f.Add([]byte(`{"osd": {"op": "many"}}`))
	f.Add([]byte(`{"throttle-osd_client_bytes": {"wait": {"avgcount": 2, "sum": 0.5}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d dump
		if json.Unmarshal(text, &d) != nil {
			return
		}
		all := map[string]float64{}
		if d.take(all); len(all) > len(metrics()) {
			t.Errorf("%d metrics of %d", len(all), len(metrics()))
		}
	})
}
