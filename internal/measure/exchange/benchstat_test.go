package exchange

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/measure"
)

// TestBenchstatReadsTheSameNumbers gives the export to benchstat and compares its
// medians, digit for digit, with those of the CSV.
func TestBenchstatReadsTheSameNumbers(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run benchstat")
	}
	run := sampleRun()
	run.Records = nil
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 18 { // nine blocks: an odd number has a median that is one of its values
		arm := i % 2
		values := map[string]float64{"iops": 1000 * float64(arm+1) * (1 + .05*r.NormFloat64()), "throughput": 4e6 * r.Float64(), "write.p99": .002 * r.Float64()}
		run.Records = append(run.Records, measure.Record{
			Trial: i + 1, Phase: "main", Block: i/2 + 1, Slot: arm + 1, Arm: arm, Values: values, Counts: map[string]int64{"operations": 100},
			Levels: map[string]string{"storage.threads": strconv.Itoa(arm + 1)},
		})
	}
	var bench bytes.Buffer
	if err := writeBenchfmt(&bench, run); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "run.txt")
	if err := os.WriteFile(file, bench.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "golang.org/x/perf/cmd/benchstat@latest", "-format", "csv", "-col", "/threads", file).Output()
	if err != nil {
		t.Fatalf("benchstat: %v", err)
	}
	got := medians(t, string(out))
	for _, m := range run.Metrics[:3] {
		for arm := range 2 {
			want := number(medianOf(t, run, m.Name, arm))
			if s := got[fmt.Sprint(unit(m), arm)]; s == "" || number(parsed(t, s)) != want {
				t.Errorf("%s of arm %d: benchstat says %q, the CSV %s\n%s", m.Name, arm, s, want, out)
			}
		}
	}
	if !strings.Contains(string(out), "p=0.000 n=9") {
		t.Errorf("benchstat did not compare nine trials of each arm:\n%s", out)
	}
}

// medians finds the two medians in each table of benchstat, by unit and arm.
func medians(t *testing.T, text string) map[string]string {
	t.Helper()
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		switch {
		case len(f) > 3 && f[0] == "" && f[2] == "CI":
			name = f[1]
		case len(f) > 3 && f[0] == "Storage":
			found[name+"0"], found[name+"1"] = f[1], f[3]
		}
	}
	return found
}

// medianOf computes a median from the CSV, as a reader of it would.
func medianOf(t *testing.T, run Run, metric string, arm int) float64 {
	t.Helper()
	var out bytes.Buffer
	if err := writeCSV(&out, run); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, l := range lines[1:] {
		if l[4] == strconv.Itoa(arm) && l[8] == metric {
			values = append(values, parsed(t, l[10]))
		}
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func parsed(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
