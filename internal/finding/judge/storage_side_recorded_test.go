package judge

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// recordedLimit is a run of a limit that was made on purpose, as go run ./bench sides --json prints it.
type recordedLimit struct {
	Limit    string `json:"limit"`
	Seed     uint64 `json:"seed"`
	Recorded *struct {
		Settings         map[string]string
		Values, Counters map[string]float64
	} `json:"recorded"`
}

// world has the recorded trial in each of its arms and blocks.
func (r recordedLimit) world(arms, blocks int) world {
	outstanding := 1
	for _, name := range []string{"disks", "threads", "depth"} {
		n, _ := strconv.Atoi(r.Recorded.Settings[name])
		outstanding *= max(1, n)
	}
	w := world{blocks: blocks, arms: []float64{1, 1}[:arms], cv: .01, demand: threads(outstanding, outstanding)}
	w.values = func(_ int, record *measure.Record) {
		maps.Copy(record.Values, r.Recorded.Values)
		maps.Copy(record.Counters, r.Recorded.Counters)
	}
	if arms == 1 {
		w.study = func(s *study.Study) {
			wanting(s)
			maps.Copy(s.Workload.Settings, r.Recorded.Settings)
			if r.Limit == "idle" { // the load has a rate
				s.Load.Rate = r.Recorded.Values["iops"]
			}
		}
	}
	return w
}

// sidesOf are the beginnings of what is said of the limits, by name.
var sidesOf = map[string]string{
	"one-thread": "The load limits", "client-cpu": "The CPU of the clients limits", "osd-cpu": "The CPU of the OSDs limits", "device": "The devices limit",
	"network": "The network between the OSDs limits", "slow-osd": "One OSD limits the cluster: osd.1", "reads": "The devices limit", "throttle": "A throttle of the OSDs limits",
	"image-limit": "A limit of the images limits", "idle": "",
	"slow-reads": "One OSD limits the cluster: osd.2", "slow-writes": "One OSD limits the cluster: osd.0", "weak-osd": "One OSD limits the cluster: osd.0", "image-bytes": "A limit of the images limits",
}

// Limits of real clusters are named: those that the rule was made with, and others. Between two arms that do not differ nothing is.
func TestRecordedSidesOfClusters(t *testing.T) {
	for _, file := range []string{"made", "held-out"} {
		text, err := os.ReadFile(filepath.Join("testdata", "storage_side", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var all []recordedLimit
		if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
			t.Fatalf("%d runs in %s: %v", len(all), file, err)
		}
		for _, r := range all {
			t.Run(file+"/"+r.Limit+"/"+strconv.FormatUint(r.Seed, 10), func(t *testing.T) {
				want, known := sidesOf[r.Limit]
				got, f := said(t, r.world(1, 1), "storage_side")
				switch {
				case !known:
					t.Fatal("it is not known what is right")
				case want == "" && len(got) > 0:
					t.Errorf("said: %s", got[0].Sentence.Text)
				case want != "" && len(got) == 0:
					t.Errorf("silent; not judged: %q", f.NotJudged)
				case want != "" && !strings.HasPrefix(got[0].Sentence.Text, want):
					t.Errorf("said: %s", got[0].Sentence.Text)
				}
				silent(t, r.world(2, 6), "storage_side")
			})
		}
	}
}
