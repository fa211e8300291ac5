package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

type tracedSettings struct {
	Trace string `name:"trace" doc:"file of instants"`
	Rate  string `name:"rate" doc:"operations offered"`
}

// tracedCatalog has a workload that takes a trace.
func tracedCatalog() *study.Catalog {
	c := testCatalog()
	c.Workloads = append(c.Workloads, workload.Define(
		workload.Kind{Name: "taker", Doc: "Takes a trace.", Metrics: measure.OperationMetrics("operations"), Rate: "operations"},
		tracedSettings{}, func(tracedSettings) (workload.Load, error) { return nil, nil }))
	return c
}

// folder holds a study's traces: one of 20 s, one of 2 s and one that is none.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "0\n10\n20\n", "b.txt": "0\n15\n", "short.txt": "0\n2\n", "bad.txt": "# seconds\n0\nsoon\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const taking = "study: s\nquestion: q?\nplatform: local\n"

func TestTrace(t *testing.T) {
	dir := folder(t)
	for name, text := range map[string]string{
		"load":    taking + "workload: taker\nload: {trace: a.txt}\n",
		"setting": taking + "workload: {taker: {trace: a.txt}}\n",
		"whole":   taking + "workload: taker\nload: {trace: " + filepath.Join(dir, "a.txt") + "}\n",
	} {
		s, err := Parse(filepath.Join(dir, "t.yaml"), []byte(text), tracedCatalog(), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f, err := load.ParseTraceFile(s.Workload.Settings["trace"])
		if err != nil || f.Path != filepath.Join(dir, "a.txt") || f.Count != 3 || f.Span != 20*time.Second {
			t.Errorf("%s: the setting is %q: %+v, %v", name, s.Workload.Settings["trace"], f, err)
		}
		if s.Load.Rate != .15 || s.Measure.Longest != 20*time.Second {
			t.Errorf("%s: %g/s for at most %s", name, s.Load.Rate, s.Measure.Longest)
		}
	}
	s, err := Parse(filepath.Join(dir, "t.yaml"), []byte(taking+"workload: taker\nfactors: {taker.trace: [a.txt, b.txt]}\n"), tracedCatalog(), nil)
	if err != nil || s.Measure.Longest != 15*time.Second || !strings.Contains(s.Factors[0].Levels[1], "b.txt (2 in 15s, sha256 ") {
		t.Errorf("two traces: %+v, %v", s, err)
	}
}

func TestTraceOfAnOverride(t *testing.T) {
	dir := folder(t)
	t.Chdir(dir)
	s, err := Parse("/elsewhere/t.yaml", []byte(taking+"workload: taker\n"), tracedCatalog(), []string{"load.trace=a.txt"})
	if err != nil || !strings.HasPrefix(s.Workload.Settings["trace"], filepath.Join(dir, "a.txt")) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestTraceRefused(t *testing.T) {
	dir := folder(t)
	for _, c := range []struct{ text, want string }{
		{"workload: taker\nload: {trace: none.txt}\n", "t.yaml:5:15: trace: stat " + dir + "/none.txt: no such file or directory"},
		{"workload: taker\nload: {trace: bad.txt}\n", "t.yaml:5:15: trace: " + dir + `/bad.txt:3: "soon" is not a time in seconds from 0`},
		{"workload: taker\nload: {trace: /dev/zero}\n", "t.yaml:5:15: trace: /dev/zero is not a file"},
		{"workload: taker\nload: {trace: short.txt}\n", "t.yaml:5:15: trace: short.txt ends after 2s, and a trial loads for at least 10s"},
		{"workload: {taker: {trace: short.txt}}\nmeasure: {window: 1s, warmup: 2s}\n", "t.yaml:4:27: trace: short.txt ends after 2s, and a trial loads for at least 3s"},
		{"workload: taker\nload: {trace: a.txt}\nmeasure: {longest: 30s}\n", "trace: a.txt ends after 20s, and a trial may load for 30s (measure.longest)"},
		{"workload: taker\nfactors: {taker.trace: [a.txt, short.txt]}\n", "t.yaml:5:32: trace: short.txt ends"},
		{"workload: taker\nload: {trace: a.txt, rate: 5/s}\n", "t.yaml:5:8: load: rate and trace are mutually exclusive"},
		{"workload: taker\nload: {trace: a.txt, peak: {within: {p99: 1s}}}\n", "trace: a trace and a search for a peak"},
		{"workload: {taker: {trace: b.txt}}\nload: {trace: a.txt}\n", "load: the trace is given twice"},
		{"workload: storage\nload: {trace: a.txt}\n", "t.yaml:5:8: load: the workload storage has no trace to set; use closed"},
	} {
		s, err := Parse(filepath.Join(dir, "t.yaml"), []byte(taking+c.text), tracedCatalog(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %+v, %v\nwant %s", c.text, s, err, c.want)
		}
	}
}

func TestCheckTraces(t *testing.T) {
	dir := folder(t)
	for name, text := range map[string]string{
		"a.txt": "workload: taker\nload: {trace: a.txt}\n",
		"b.txt": "workload: taker\nfactors: {taker.trace: [a.txt, b.txt]}\n",
	} {
		s, err := Parse(filepath.Join(dir, "t.yaml"), []byte(taking+text), tracedCatalog(), nil)
		if err != nil || s.CheckTraces() != nil {
			t.Fatalf("%v, %v", err, s.CheckTraces())
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0\n30\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckTraces(); err == nil || !strings.Contains(err.Error(), name+" has changed since the study was read") {
			t.Errorf("%s changed: %v", name, err)
		}
	}
	if err := parse(t, head).CheckTraces(); err != nil {
		t.Errorf("without a trace: %v", err)
	}
}
