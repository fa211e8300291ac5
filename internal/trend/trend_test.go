package trend_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/effort"
	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/history"
	"plimsoll/internal/lab"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/sim"
	"plimsoll/internal/study"
	"plimsoll/internal/trend"
	"plimsoll/internal/trend/trendtest"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/null"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestMain(m *testing.M) {
	effort.InMemory()
	effort.CollectSeldom()
	m.Run()
}

func catalog() *study.Catalog {
	return &study.Catalog{
		Workloads: []workload.Kind{null.Kind()}, Platforms: []platform.Kind{sim.Kind()},
		Factors: []factor.Factor{sim.Knob(), factor.Label()}, Sources: []collect.Source{collect.CPU()},
	}
}

func index() *history.Index { return history.New("") }

const one = "study: nightly\nquestion: What does it carry?\nplatform: sim\nworkload: {\"null\": {threads: 4}}\nheadline: [operations]\nmargin: 2%\n"

const two = "study: pinned\nquestion: What does it carry?\nplatform: sim\nworkload: {\"null\": {threads: 4}}\nfactors: {label: [pinned, new]}\nheadline: [operations, p99]\nmargin: 2%\n"

func bed(kernel string, memory int) collect.TestbedRecord {
	return collect.TestbedRecord{
		{Name: "machine.name", Value: "host"}, {Name: "cpu.model", Value: "Model 1"}, {Name: "cpu.vulnerability.meltdown", Value: "Mitigation: PTI"},
		{Name: "cpu.frequency.governor", Value: collect.NotReadable + "no /sys/" + kernel}, {Name: "memory.size", Value: fmt.Sprint(memory) + " B"}, {Name: "kernel.release", Value: kernel},
		{Name: "software.postgres", Value: "15.3"},
	}
}

// past writes runs of a study, a day apart, and lets change say what is different about one.
type past struct {
	dir    string
	runs   int
	study  string
	value  func(r *rand.Rand, run int, metric string, arm int) float64
	change func(run int, r *trendtest.Run)
}

func (h past) write(t *testing.T) string {
	t.Helper()
	if h.dir == "" {
		h.dir = t.TempDir()
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range h.runs {
		level := map[string]float64{}
		r := trendtest.Run{
			Dir: filepath.Join(h.dir, fmt.Sprintf("run-%03d", i)), Study: h.study, Name: fmt.Sprint("r", i), Version: "1.0", Testbed: bed("6.1.0", 64_000_000_000),
			Started: time.Date(2026, 3, 1+i, 4, 30, 0, 0, time.Local), Blocks: 3,
		}
		r.Value = func(metric string, arm, block int) float64 {
			key := metric + strconv.Itoa(arm)
			if level[key] == 0 {
				level[key] = h.value(random, i, metric, arm)
			}
			return level[key] * math.Exp(0.002*random.NormFloat64())
		}
		if h.change != nil {
			h.change(i, &r)
		}
		if err := trendtest.Write(catalog(), r); err != nil {
			t.Fatal(err)
		}
	}
	return h.dir
}

func read(t *testing.T, r trend.Request) *trend.Trend {
	t.Helper()
	out, err := trend.Read(t.Context(), catalog(), r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// noisy is a level with 1 % between runs, which falls by a share from a run on.
func noisy(level float64, from int, change float64) func(*rand.Rand, int, string, int) float64 {
	return func(r *rand.Rand, run int, _ string, _ int) float64 {
		v := level * math.Exp(0.01*r.NormFloat64())
		if run >= from {
			v *= 1 + change
		}
		return v
	}
}

func nightly(t *testing.T) string {
	return past{runs: 40, study: one, value: noisy(20_000, 25, -.05), change: func(run int, r *trendtest.Run) {
		if run >= 25 {
			r.Version = "1.1"
			r.Testbed = append(r.Testbed[:len(r.Testbed)-1:len(r.Testbed)-1], collect.Fact{Name: "software.postgres", Value: "16.0"})
		}
	}}.write(t)
}

func TestAFallIsFoundWhereItIs(t *testing.T) {
	t.Parallel()
	got := read(t, trend.Request{Index: index(), Folders: []string{nightly(t)}, Study: "nightly"})
	if len(got.Series) != 1 || len(got.Series[0].Runs) != 40 || len(got.Series[0].Lines) != 1 || len(got.LeftOut) != 0 {
		t.Fatalf("%d series, %+v", len(got.Series), got.LeftOut)
	}
	if got.Judged != 1 || got.ByChance != .002 {
		t.Errorf("%d lines are judged, with %g changes by chance", got.Judged, got.ByChance)
	}
	l := got.Series[0].Lines[0]
	if len(l.Points) != 40 || len(l.Changes) != 1 || l.Metric.Name != "operations" || l.Metric.Unit != "1/s" {
		t.Fatalf("%+v", l)
	}
	c := l.Changes[0]
	if c.State != trend.Frozen || c.Run != 25 || c.Before != 24 || c.Verdict != finding.Worse || c.Low > .95 || c.High < .95 || c.High >= 1 || c.High-c.Low > .03 {
		t.Errorf("%+v", c)
	}
	if found := c.Found.Sub(c.Started); found < 3*24*time.Hour-time.Hour || found > 6*24*time.Hour {
		t.Errorf("found %s after the change, want three to six days", found)
	}
	if want := []trend.Difference{{Name: "plimsoll", From: "1.0", To: "1.1"}, {Name: "software.postgres", From: "15.3", To: "16.0"}}; !slices.Equal(c.Along, want) {
		t.Errorf("along with the change: %+v, want %+v", c.Along, want)
	}
	if l.Spread < .005 || l.Spread > .015 || l.Level < 18_800 || l.Level > 19_200 || l.Low >= l.Level || l.High <= l.Level || l.Standing() != nil || l.Few() {
		t.Errorf("level %g (%g to %g), spread %g", l.Level, l.Low, l.High, l.Spread)
	}
	for _, p := range l.Points {
		if p.Blocks != 3 || !(p.Low < p.Value && p.Value < p.High) || p.High/p.Low > 1.05 {
			t.Fatalf("%+v", p)
		}
	}
}

func TestAChangeIsProvisionalFirst(t *testing.T) {
	t.Parallel()
	dir := past{runs: 32, study: one, value: noisy(20_000, 25, -.05)}.write(t)
	l := read(t, trend.Request{Index: index(), Folders: []string{dir}, Study: "nightly"}).Series[0].Lines[0]
	c := l.Standing()
	if c == nil || c.State != trend.Provisional || c.Run != 25 || c.More < 1 || c.More > 5 {
		t.Fatalf("%+v", l.Changes)
	}
}

func TestAnotherTestbedIsAnotherSeries(t *testing.T) {
	t.Parallel()
	dir := past{runs: 12, study: one, value: noisy(20_000, 6, -.3), change: func(run int, r *trendtest.Run) {
		r.Testbed = bed("6.1.0", 64_000_000_000+run*1000) // as it differs from boot to boot
		if run >= 6 {
			r.Testbed = bed("6.12.0", 64_000_000_000)
		}
	}}.write(t)
	got := read(t, trend.Request{Index: index(), Folders: []string{dir}, Study: "nightly"})
	if len(got.Series) != 2 || len(got.Series[0].Runs) != 6 || len(got.Series[1].Runs) != 6 {
		t.Fatalf("%d series: %+v", len(got.Series), got.Series)
	}
	if d := got.Series[1].Differs; len(d) != 1 || d[0] != (trend.Difference{Name: "kernel.release", From: "6.1.0", To: "6.12.0"}) {
		t.Errorf("differs in %+v", d)
	}
	if got.Judged != 0 || got.ByChance != 0 || got.Chance() != "" {
		t.Errorf("%d lines of six runs are judged: %s", got.Judged, got.Chance())
	}
	if a := got.Series[1].Lines[0].Answer(); a != "too few runs to see a change: 6 of at least 13" {
		t.Error(a)
	}
}

func TestWhatMakesAStudyAnotherOne(t *testing.T) {
	t.Parallel()
	texts := map[int]string{
		1: strings.Replace(one, "What does it carry", "Something else", 1), 2: one + "seed: 5\n", 3: one + "limits: {p99: {max: 20ms}}\n",
		4: strings.Replace(one, "threads: 4", "threads: 8", 1),
	}
	dir := past{runs: 5, study: one, value: noisy(20_000, 0, 0), change: func(run int, r *trendtest.Run) {
		if texts[run] != "" {
			r.Study = texts[run]
		}
	}}.write(t)
	got := read(t, trend.Request{Index: index(), Folders: []string{dir}, Study: "nightly"})
	if len(got.Series) != 2 || len(got.Series[0].Runs) != 4 || len(got.Series[1].Runs) != 1 {
		t.Fatalf("%d series, the first of %d runs", len(got.Series), len(got.Series[0].Runs))
	}
	if d := got.Series[1].Differs; len(d) != 1 || d[0].To != "8" || !strings.HasSuffix(d[0].Name, "threads") {
		t.Errorf("differs in %+v", d)
	}
}

func TestDriftOfTheMachineCancelsOut(t *testing.T) {
	t.Parallel()
	drift := map[int]float64{}
	dir := past{runs: 40, study: two, value: func(r *rand.Rand, run int, _ string, arm int) float64 {
		if drift[run] == 0 {
			drift[run] = 20_000 * math.Exp(0.01*r.NormFloat64())
			if run >= 20 {
				drift[run] *= .9
			}
		}
		v := drift[run] * math.Exp(.002*r.NormFloat64())
		if arm == 1 && run >= 30 {
			v *= 1.03
		}
		return v
	}}.write(t)
	got := read(t, trend.Request{Index: index(), Folders: []string{dir}, Study: "pinned", Metric: "operations"})
	if want := "3 lines are judged after each run: where nothing changed, 0.006 provisional changes at a time are expected at most."; got.Chance() != want {
		t.Errorf("%q, want %q", got.Chance(), want)
	}
	at := map[string][]int{}
	for _, l := range got.Series[0].Lines {
		at[l.Name()] = []int{}
		for _, c := range l.Changes {
			at[l.Name()] = append(at[l.Name()], c.Run)
		}
	}
	want := map[string][]int{"operations, label=pinned": {20}, "operations, label=new against label=pinned": {30}}
	for name, places := range want {
		if !slices.Equal(at[name], places) {
			t.Errorf("%s changes at %v, want %v; all: %v", name, at[name], places, at)
		}
	}
}

func TestWhatIsNoPoint(t *testing.T) {
	t.Parallel()
	dir := past{runs: 8, study: one, value: noisy(20_000, 0, 0), change: func(run int, r *trendtest.Run) {
		switch run {
		case 1:
			r.Open = true
		case 2:
			r.Void = map[int]bool{2: true}
		case 3:
			r.Void = map[int]bool{1: true, 2: true, 3: true}
		case 4:
			r.Name = "r0" // a copy of the first
		case 5:
			value := r.Value
			r.Value = func(metric string, arm, block int) float64 {
				if block == 2 {
					return 0 // which has no logarithm
				}
				return value(metric, arm, block)
			}
		}
	}}.write(t)
	if err := os.WriteFile(filepath.Join(dir, "run-006", "journal.jsonl"), []byte("{}\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run-007", "tune.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got := read(t, trend.Request{Index: index(), Folders: []string{dir, filepath.Join(dir, "none")}, Study: "nightly"})
	s := got.Series[0]
	if len(s.Runs) != 4 || len(got.LeftOut) != 1 || !strings.Contains(got.LeftOut[0].Reason, "line 1") {
		t.Fatalf("%d runs; left out %+v", len(s.Runs), got.LeftOut)
	}
	if p := s.Lines[0].Points; len(p) != 2 || p[1].Run != 1 || p[1].Blocks != 2 {
		t.Errorf("points %+v", p)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	dir := past{runs: 1, study: one, value: noisy(20_000, 0, 0)}.write(t)
	for _, c := range []struct {
		request trend.Request
		want    string
	}{
		{trend.Request{Index: index(), Folders: []string{dir}, Study: "nightl"}, `did you mean "nightly"?`},
		{trend.Request{Index: index(), Folders: []string{dir}, Study: "other-study"}, "it has runs of: nightly"},
		{trend.Request{Index: index(), Folders: []string{t.TempDir()}, Study: "nightly"}, `no run of "nightly" in `},
		{trend.Request{Index: index(), Folders: []string{dir}, Study: "nightly", Metric: "operation"}, `did you mean "operations"?`},
		{trend.Request{Index: index(), Folders: []string{filepath.Join(dir, "run-000", "plan.json")}, Study: "nightly"}, "not a directory"},
	} {
		_, err := trend.Read(t.Context(), catalog(), c.request)
		if err == nil || !strings.Contains(err.Error(), c.want) || !lab.IsMistake(err) {
			t.Errorf("%+v: %v", c.request, err)
		}
	}
	counts, err := trend.Studies(t.Context(), index(), []string{dir, dir})
	if err != nil || len(counts) != 1 || counts[0] != (trend.Count{Study: "nightly", Folders: 1}) {
		t.Errorf("%v, %v", counts, err)
	}
}

// The same runs give the same bytes, in whatever order their folders are named.
func TestOrderOfFoldersDoesNotMatter(t *testing.T) {
	t.Parallel()
	h := past{runs: 20, study: one, value: noisy(20_000, 12, -.1)}
	first, second := t.TempDir(), t.TempDir()
	h.change = func(run int, r *trendtest.Run) {
		if run%2 == 1 {
			r.Dir = filepath.Join(second, filepath.Base(r.Dir))
		}
	}
	h.dir = first
	h.write(t)
	a, err := json.Marshal(read(t, trend.Request{Index: index(), Folders: []string{first, second}, Study: "nightly"}))
	b, failed := json.Marshal(read(t, trend.Request{Index: index(), Folders: []string{second, first}, Study: "nightly"}))
	if err != nil || failed != nil || !bytes.Equal(a, b) {
		t.Errorf("%v %v\n%s\n%s", err, failed, a, b)
	}
}

func TestText(t *testing.T) {
	dir := nightly(t)
	got := read(t, trend.Request{Index: index(), Folders: []string{dir}, Study: "nightly"})
	got.LeftOut = []trend.LeftOut{{Folder: dir + "/x\x1b[2J", Reason: "bad\nline"}}
	var text bytes.Buffer
	if err := got.Text(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "nightly.txt", bytes.ReplaceAll(text.Bytes(), []byte(dir), []byte("results")))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update rewrites it:\n%s", name, got)
	}
}

func TestCSV(t *testing.T) {
	got := read(t, trend.Request{Index: index(), Folders: []string{nightly(t)}, Study: "nightly"})
	var text bytes.Buffer
	if err := got.CSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(rows) != 41 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if head := strings.Join(rows[0], "|"); head != "time|folder|version|series|operations|operations low|operations high" {
		t.Error(head)
	}
	for i, row := range rows[1:] {
		at, err := time.Parse(time.RFC3339, row[0])
		v, failed := strconv.ParseFloat(row[4], 64)
		if err != nil || failed != nil || !at.Equal(got.Series[0].Runs[i].Started) || v != got.Series[0].Lines[0].Points[i].Value {
			t.Fatalf("%v: %v %v", row, err, failed)
		}
	}
}
