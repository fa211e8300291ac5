package hciexport

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/memoryaccess"
	"plimsoll/internal/workload/storage"
)

// few is a catalog of what the studies of these tests name.
func few() *study.Catalog {
	return &study.Catalog{
		Workloads: []workload.Kind{storage.Kind(), memoryaccess.Kind()}, Services: []service.Kind{ceph.Kind()}, Platforms: []platform.Kind{local.Kind()},
	}
}

func newLab() *lab.Lab { return &lab.Lab{Catalog: few(), Version: "test"} }

// folder is a results folder that a test makes, without running anything.
type folder struct {
	t      *testing.T
	dir    string
	study  *study.Study
	plan   *plan.Plan
	trials int
	random *rand.Rand
	began  time.Time
}

func newFolder(t *testing.T, dir, text string, sets ...string) *folder {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f := &folder{t: t, dir: dir, random: rand.New(rand.NewPCG(7, 11)), began: time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC)}
	var err error
	if f.study, err = file.Parse("study.yaml", []byte(text), few(), sets); err != nil {
		t.Fatal(err)
	}
	if f.plan, err = plan.New(f.study, 1); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "study.yaml"), []byte(text))
	f.json("study.json", f.study)
	f.json("plan.json", f.plan)
	put(t, filepath.Join(dir, "testbed.json"), []byte(`{"software.fio": "3.33"}`))
	f.log(journal.Entry{Kind: journal.KindBegin, Begin: &journal.Begin{Study: "test"}})
	return f
}

func put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) json(name string, v any) {
	f.t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	put(f.t, filepath.Join(f.dir, name), data)
}

// log appends to the journal.
func (f *folder) log(entries ...journal.Entry) {
	f.t.Helper()
	j, err := journal.Open(f.dir, f.t.TempDir(), func(string) {})
	for _, e := range entries {
		if err == nil {
			err = j.Append(e)
		}
	}
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// load is what a machine of a test does: reads and writes per second, and their mean response time.
type load struct {
	reads, writes int64
	mean          time.Duration
	block         int64
	late          time.Duration // its intervals end later by so much each
}

// intervals are ten intervals of a second, with response times drawn at random.
func (f *folder) intervals(l load) (all []measure.Interval) {
	at := time.Duration(0)
	for range 10 {
		in := measure.Interval{From: at, To: at + time.Second + l.late}
		at = in.To
		for class, n := range map[string]int64{"read": l.reads, "write": l.writes} {
			if n += f.random.Int64N(max(1, n/10)); n == 0 {
				continue
			}
			s := measure.Sample{Class: class, Operations: n, Bytes: n * l.block, Latency: measure.NewHistogram()}
			for range n {
				d := time.Duration(f.random.ExpFloat64() * float64(l.mean))
				s.Latency.Record(d, 1)
				s.Total += d
			}
			in.Samples = append(in.Samples, s)
		}
		all = append(all, in)
	}
	return all
}

func recorded(all []measure.Interval) *measure.Recorder {
	r := measure.NewRecorder(nil)
	for _, in := range all {
		r.Interval(in)
	}
	return r
}

// trial writes a trial of one machine, or of several as the parts of a trial are recorded.
func (f *folder) trial(arm int, void string, names []string, loads ...load) *measure.Record {
	f.t.Helper()
	whole := measure.NewRecorder(nil)
	merger := measure.NewMerger(len(loads), whole)
	var each []*measure.Recorder
	for i, l := range loads {
		r := recorded(f.intervals(l))
		each = append(each, r)
		for _, in := range r.Intervals() {
			merger.Take(i, in)
		}
	}
	files := map[string][]byte{}
	record := f.record(arm, void, whole, files)
	for i, name := range names {
		all := each[i].Intervals()
		s := f.sum(all, measure.Window{Cut: all[2].From.Seconds(), End: all[9].To.Seconds()})
		record.Parts = append(record.Parts, measure.Part{Machine: name, Workload: "storage", Rate: "iops", Values: s.Values, Counts: s.Counts})
		files[measure.LatencyFile(name)] = measure.EncodeHistograms(s.Log(), record.Window)
	}
	f.write(record, files)
	return record
}

func (f *folder) sum(all []measure.Interval, window measure.Window) *measure.Summary {
	f.t.Helper()
	s, err := measure.Summarise(all, window, "iops")
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// record is the record of a trial whose first two intervals are its warm-up.
func (f *folder) record(arm int, void string, whole *measure.Recorder, files map[string][]byte) *measure.Record {
	f.t.Helper()
	all := whole.Intervals()
	f.trials++
	n := f.trials
	start := f.began.Add(time.Duration(n) * 20 * time.Second)
	r := &measure.Record{
		Trial: n, Phase: plan.PhaseMain, Block: (n-1)/len(f.plan.Arms) + 1, Slot: 1, Arm: arm, Levels: f.plan.Arms[arm].Levels, Start: start, End: start.Add(12 * time.Second),
		Window: measure.Window{Cut: all[2].From.Seconds(), End: all[9].To.Seconds(), Steady: measure.Steady}, Checks: []measure.Check{}, Void: void,
	}
	s := f.sum(all, r.Window)
	r.Values, r.Counts = s.Values, s.Counts
	files[measure.LatencyFile("")] = measure.EncodeHistograms(s.Log(), r.Window)
	maps.Copy(files, measure.EncodeIntervals(all))
	return r
}

func (f *folder) write(r *measure.Record, files map[string][]byte) {
	f.t.Helper()
	sum, err := measure.OpenResults(f.dir).WriteTrial(r, files)
	if err != nil {
		f.t.Fatal(err)
	}
	f.log(journal.Entry{Kind: journal.KindTrial, Trial: r.Trial}, journal.Entry{Kind: journal.KindTrialEnded, Trial: r.Trial, Record: sum, Void: r.Void})
}

// depths is a study of two arms.
const depths = `study: depths
question: Does depth pay?
platform: local
workload:
  storage: {disks: 2, size: 64MiB, read: 70%}
factors:
  storage.depth: [1, 8]
headline: [iops]
`

// twoDepths is a results folder of depths, with two trials of each arm and a void one.
func twoDepths(t *testing.T) *folder {
	f := newFolder(t, filepath.Join(t.TempDir(), "depths"), depths)
	for block := range 2 {
		for arm, l := range []load{{700, 300, time.Millisecond, 4096, 0}, {2100, 900, 3 * time.Millisecond, 4096, 0}} {
			f.trial(arm, "", nil, l)
			if block == 0 && arm == 1 {
				f.trial(arm, "no steady state", nil, l)
			}
		}
	}
	return f
}

func exported(t *testing.T, dir string) (out string, lines []string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "test")
	lines, err := Export(newLab(), dir, out)
	if err != nil {
		t.Fatal(err)
	}
	return out, lines
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("list %s: %w", dir, err))
	}
	return names[1:]
}
