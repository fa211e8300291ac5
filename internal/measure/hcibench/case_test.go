package hcibench

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
)

var update = flag.Bool("update", false, "rewrite golden files")

// sample is a case of two VMs, of which the second has writes only, and too few for percentiles.
func sample() *Case {
	slow, fast := measure.NewHistogram(), measure.NewHistogram()
	for i := range 1000 {
		fast.Record(time.Duration(100+i)*time.Microsecond, 1)
		slow.Record(time.Duration(2*i+1)*time.Millisecond, 1)
	}
	few := measure.NewHistogram()
	few.Record(3*time.Millisecond, 20)
	return &Case{
		Name:      Name{Group: NoGroup, File: "fio-2vmdk-100ws-4k-50rdpct-100randompct-8threads", Start: time.Unix(1776000000, 0)},
		Datastore: "ceph",
		Machines: []Machine{
			{Name: "guest-1", Classes: map[string]Class{
				"read":  {Operations: 1000, Bytes: 4096000, Seconds: 2.5, Mean: .6e-3, Max: 1.1e-3, Histogram: fast},
				"write": {Operations: 1000, Bytes: 4096000, Seconds: 2.5, Mean: 1, Max: 2, Histogram: slow},
			}},
			{Name: "guest-2", Classes: map[string]Class{"write": {Operations: 20, Bytes: 81920, Seconds: 2.5, Mean: 3e-3, Max: 3e-3, Histogram: few}}, Errors: 3},
		},
		Merged:  map[string]float64{"iops": 808, "throughput": 3309568, "read.p95": 1.05e-3, "p99.9": 1.9, "fairness": .5},
		Version: "fio-3.33", Global: []string{"ioengine=rbd", "rw=randrw", "bs=4096"},
		Jobs:  []Disk{{"job0", "disk-01", []string{"rbdname=disk-01", "numjobs=1"}}, {"job1", "disk-02", []string{"rbdname=disk-02", "numjobs=1"}}},
		Ended: time.Date(2026, 4, 12, 13, 20, 10, 0, time.UTC), Seconds: 3.2,
		Settings: Settings{Test: "it's a test", VMs: 2, Disks: 2, DiskGB: .125, Preparation: "RANDOM", Seconds: 2.5, Groups: []Group{{2, "a"}}},
		Origin:   Origin{Study: "sample", Arm: "storage.depth=8", Levels: map[string]string{"storage.depth": "8"}, Trial: 4, Block: 2},
	}
}

func TestFiles(t *testing.T) {
	files, err := sample().Files()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if strings.HasSuffix(name, ".json") { // without the bins, which are many
			files[name] = data[:strings.Index(string(data), `"bins"`)]
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&text, "-- %s --\n%s\n", name, files[name])
	}
	golden := filepath.Join("testdata", "case.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != text.String() {
		t.Errorf("%v: the files of a case are\n%s", err, text.String())
	}
}

// The first block of a summary is what HCIBench computes from the files of the VMs: sums, plain means over VMs, nothing for a class that did not run, and whole
// MiB/s, since its division is of integers.
func TestSummaryIsThatOfHCIBench(t *testing.T) {
	c := sample()
	second := c.Machines[1].Classes["write"]
	second.Histogram = c.Machines[0].Classes["read"].Histogram
	c.Machines[1].Classes["write"] = second
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		IOPS    float64 `json:"iops"`
		BW      int64   `json:"bw"`
		Latency struct {
			Mean       float64          `json:"mean"`
			Percentile map[string]int64 `json:"percentile"`
		} `json:"lat_ns"`
	}
	iops, bw, n := 0., int64(0), 0.
	var mean, tile [2]float64
	for name, data := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		var doc struct {
			Jobs []struct {
				ETA         int `json:"eta"`
				Read, Write part
			} `json:"jobs"`
		}
		if err := json.Unmarshal(data, &doc); err != nil || doc.Jobs[0].ETA != 0 {
			t.Fatal(err, doc.Jobs)
		}
		n++
		for i, p := range []part{doc.Jobs[0].Read, doc.Jobs[0].Write} {
			iops, bw = iops+p.IOPS, bw+p.BW
			mean[i] += p.Latency.Mean
			if p.Latency.Percentile != nil {
				v, has := p.Latency.Percentile["95.000000"]
				if !has {
					t.Error("HCIBench would end with an error: there are percentiles without the 95th")
				}
				tile[i] += float64(v)
			}
		}
	}
	want := fmt.Sprintf("Datastore     = ceph\n=============================\nJOB_NAME\t= job0\nVMs\t\t= 2\nIOPS\t\t= %.2f IO/S\nTHROUGHPUT\t= %.2f MB/s\nR_LATENCY\t= %.4f ms\nW_LATENCY\t= %.4f ms\n95%%tile_R_LAT\t= %.4f ms\n95%%tile_W_LAT\t= %.4f ms\n=============================\n",
		iops, float64(bw/1024), mean[0]/n/1e6, mean[1]/n/1e6, tile[0]/n/1e6, tile[1]/n/1e6)
	text := string(files[c.Name.String()+SummarySuffix])
	if !strings.HasPrefix(text, want) || !strings.Contains(want, "= 3.00 MB/s") {
		t.Errorf("summary\n%s\nwant\n%s", text, want)
	}
	s, err := ParseSummary([]byte(text))
	if err != nil || len(s.Jobs) != 1 || s.Jobs[0].VMs != 2 || math.Abs(s.Jobs[0].Merged["p99.9"]-1.9) > 1e-9 || s.Jobs[0].Merged["fairness"] != 0 {
		t.Errorf("read again: %+v, %v", s, err)
	}
}
