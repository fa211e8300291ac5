package counter

import (
	"encoding/json"
	"os"
	"testing"
)

// The recorded answer is of an OSD of Ceph 16.2.15 with 25 placement groups.
func TestCountersOfARecordedOSD(t *testing.T) {
	text, err := os.ReadFile("testdata/perf-dump.json")
	if err != nil {
		t.Fatal(err)
	}
	var d Dump
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	d.Take(all)
	for _, c := range osdCounters() {
		if _, ok := all[c.metric.Name]; !ok {
			t.Errorf("%s is missing: no %s.%s", c.metric.Name, c.section, c.name)
		}
	}
	if all["ceph.commits.count"] <= 0 || all["ceph.commits.time"] <= 0 || all["ceph.allocated"] <= 0 {
		t.Errorf("got %v", all)
	}
	once := all["ceph.commits.time"]
	if d.Take(all); all["ceph.commits.time"] != 2*once {
		t.Errorf("two OSDs have %v, one %v", all["ceph.commits.time"], once)
	}
}

// Waits for all throttles add up, and so do the writes that BlueStore issues: blobs, deferred writes, and those of its logs.
func TestCountersThatAddUp(t *testing.T) {
	var d Dump
	if err := json.Unmarshal([]byte(`{
		"throttle-osd_client_bytes": {"val": 7, "get_or_fail_fail": 40, "wait": {"avgcount": 3, "sum": 0.5, "avgtime": 0.16}}, "throttle-bluestore_throttle_bytes": {"wait": {"avgcount": 1, "sum": 0.25}},
		"bluestore": {"bluestore_write_new": 448, "bluestore_write_small_unused": 2, "deferred_write_ops": 298, "kv_commit_lat": {"avgcount": 30, "sum": 1}}, "bluefs": {"logged_bytes": 122880}
	}`), &d); err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	d.Take(all)
	for name, want := range map[string]float64{"ceph.throttle.count": 4, "ceph.throttle.time": .75, "ceph.throttle.refusals": 40, "ceph.device_writes.count": 448 + 2 + 298 + 30 + 30} {
		if all[name] != want {
			t.Errorf("%s is %v, want %v", name, all[name], want)
		}
	}
}

func FuzzDump(f *testing.F) {
	f.Add([]byte(`{"osd": {"op": 1, "op_w_latency": {"avgcount": 2, "sum": 0.5, "avgtime": 0.25}, "histogram": [[1]]}}`))
	f.Add([]byte(`{"osd": {"op": "many"}}`))
	f.Add([]byte(`{"throttle-osd_client_bytes": {"wait": {"avgcount": 2, "sum": 0.5}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Dump
		if json.Unmarshal(text, &d) != nil {
			return
		}
		all := map[string]float64{}
		if d.Take(all); len(all) > len(Metrics()) {
			t.Errorf("%d metrics of %d", len(all), len(Metrics()))
		}
	})
}
