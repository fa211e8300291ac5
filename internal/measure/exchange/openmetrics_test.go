package exchange

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
)

// sample is a sample of OpenMetrics.
type sample struct {
	name   string
	labels map[string]string
	value  float64
	at     float64
}

var (
	comment    = regexp.MustCompile(`^# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)*)\} (\S+) (\d+(?:\.\d+)?)$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)`)
)

// readOpenMetrics reads the text format strictly, by the grammar and the rules of OpenMetrics 1.0: families are contiguous, metadata
// precedes the samples, the unit ends the name, times of a metric increase, and the text ends with EOF.
func readOpenMetrics(text string) ([]sample, error) {
	body, whole := strings.CutSuffix(text, "# EOF\n")
	if !whole {
		return nil, fmt.Errorf("no EOF at the end")
	}
	var all []sample
	var family, kind string
	seen, latest, last := map[string]bool{}, map[string]float64{}, ""
	for i, line := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
		if line == "" && body == "" {
			break
		}
		if m := comment.FindStringSubmatch(line); m != nil {
			if m[1] == "TYPE" {
				if seen[m[2]] {
					return nil, fmt.Errorf("line %d: family %s begins twice", i+1, m[2])
				}
				family, kind, last = m[2], m[3], ""
				seen[family] = true
			}
			if m[2] != family || last != "" || m[1] == "UNIT" && !strings.HasSuffix(family, "_"+m[3]) {
				return nil, fmt.Errorf("line %d: %s", i+1, line)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || m[1] != family+map[string]string{"gauge": "", "info": "_info"}[kind] {
			return nil, fmt.Errorf("line %d: %q in family %s", i+1, line, family)
		}
		s := sample{name: m[1], labels: map[string]string{}}
		var err, failed error
		s.value, err = strconv.ParseFloat(m[3], 64)
		s.at, failed = strconv.ParseFloat(m[4], 64)
		if err != nil || failed != nil {
			return nil, fmt.Errorf("line %d: %v %v", i+1, err, failed)
		}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			s.labels[pair[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(pair[2])
		}
		key := m[1] + m[2]
		if at, known := latest[key]; known && (key != last || s.at <= at) {
			return nil, fmt.Errorf("line %d: %s is not contiguous, or not later", i+1, key)
		}
		latest[key], last = s.at, key
		all = append(all, s)
	}
	return all, nil
}

// timed is the sample run with times: two trials of an arm end within the same millisecond.
func timed() Run {
	run := sampleRun()
	run.Name = `a "quoted" \ name` + "\nin two lines"
	for i := range run.Records {
		run.Records[i].End = time.Date(2026, 3, 1, 12, 0, i/4, 0, time.UTC)
	}
	run.Metrics = append(run.Metrics, measure.Metric{Name: "odd_one", Unit: "", Doc: "shares\na family"})
	run.Records[0].Values["odd_one"] = 2
	run.Records[1].End = run.Records[0].End
	return run
}

func TestOpenMetricsHoldsEveryValue(t *testing.T) {
	var out bytes.Buffer
	run := timed()
	if err := Write(&out, run, "openmetrics"); err != nil {
		t.Fatal(err)
	}
	all, err := readOpenMetrics(out.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	got := map[string]int{}
	for _, s := range all {
		if s.name == "plimsoll_run_info" {
			if s.labels["run"] != run.Name || s.labels["seed"] != "7" || s.value != 1 {
				t.Errorf("%+v", s)
			}
			continue
		}
		got[fmt.Sprint(s.labels["arm"], " ", s.labels["metric"], " ", s.value)]++
	}
	want := 0
	for i := range run.Records {
		r := &run.Records[i]
		if !r.Valid() {
			continue
		}
		for metric, value := range run.values(r) {
			want++
			if key := fmt.Sprint(run.label(r.Arm), " ", metric.Name, " ", value); got[key] != 1 {
				t.Errorf("%s is there %d times", key, got[key])
			}
		}
	}
	if len(all) != want+1 {
		t.Errorf("%d samples, want %d", len(all), want+1)
	}
}

func TestNamesOfOpenMetrics(t *testing.T) {
	for in, want := range map[measure.Metric]string{
		{Name: "write.p99", Unit: "s"}: "plimsoll_trial_write_p99_seconds", {Name: "iops", Unit: "1/s"}: "plimsoll_trial_iops_per_second",
		{Name: "throughput", Unit: "B/s"}: "plimsoll_trial_throughput_bytes_per_second", {Name: "cpu.busy/op", Unit: "s"}: "plimsoll_trial_cpu_busy_op_seconds",
		{Name: "fairness", Unit: "1"}: "plimsoll_trial_fairness", {Name: "µs", Unit: ""}: "plimsoll_trial__s",
	} {
		if got, _ := familyOf(in); got != want {
			t.Errorf("%s: %s, want %s", in.Name, got, want)
		}
	}
}

// What the reader of this test refuses, so that it is known to bite.
func TestTheReaderOfOpenMetricsIsStrict(t *testing.T) {
	good := "# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds{x=\"1\"} 1 1.000\na_seconds{x=\"1\"} 2 2.000\n# EOF\n"
	if all, err := readOpenMetrics(good); err != nil || len(all) != 2 || all[1].at != 2 {
		t.Fatalf("%v %v", all, err)
	}
	for _, bad := range []string{
		strings.TrimSuffix(good, "# EOF\n"), strings.Replace(good, "2.000", "1.000", 1), strings.Replace(good, "_seconds seconds", "_seconds bytes", 1),
		strings.Replace(good, `x="1"`, `x="a"b"`, 1), strings.Replace(good, "# EOF", "# TYPE a_seconds gauge\n# EOF", 1),
	} {
		if _, err := readOpenMetrics(bad); err == nil {
			t.Errorf("accepted:\n%s", bad)
		}
	}
}

// Prometheus makes blocks of it.
func TestPromtoolReadsOpenMetrics(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if os.Getenv("PLIMSOLL_REAL") == "" || err != nil {
		t.Skip("needs PLIMSOLL_REAL=1 and promtool")
	}
	run := timed()
	for i := range run.Records { // Prometheus writes no subnormal numbers as text, but reads them
		for name, v := range run.Records[i].Values {
			run.Records[i].Values[name] = min(v, math.MaxFloat32)
		}
	}
	var out bytes.Buffer
	if err := Write(&out, run, "openmetrics"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "run.om")
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := exec.CommandContext(t.Context(), promtool, "tsdb", "create-blocks-from", "openmetrics", file, filepath.Join(dir, "blocks")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, text, out.String())
	}
	if err := os.Mkdir(filepath.Join(dir, "blocks", "wal"), 0o755); err != nil { // which a dump wants
		t.Fatal(err)
	}
	dumped, err := exec.CommandContext(t.Context(), promtool, "tsdb", "dump", filepath.Join(dir, "blocks")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, dumped)
	}
	all, err := readOpenMetrics(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(dumped), "plimsoll_"); n != len(all) {
		t.Errorf("promtool has %d samples of %d:\n%s", n, len(all), dumped)
	}
}
