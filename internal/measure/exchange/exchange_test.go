package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"plimsoll/internal/measure"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sampleRun is a run of two arms: a block that counts, one with a void trial, and
// one with a value of every awkward kind.
func sampleRun() Run {
	trial := func(n, block, slot, arm int, values map[string]float64) measure.Record {
		return measure.Record{
			Trial: n, Phase: "main", Block: block, Slot: slot, Arm: arm,
			Levels: map[string]string{"storage.threads": strconv.Itoa(arm + 1), "storage.block": "4KiB/60:64KiB/40"},
			Values: values, Counts: map[string]int64{"operations": int64(1000 * n)},
		}
	}
	records := []measure.Record{
		trial(1, 1, 1, 1, map[string]float64{"iops": 1234.5678901234567, "throughput": 5056789.1, "write.p99": .0012345, "odd one": 1}),
		trial(2, 1, 2, 0, map[string]float64{"iops": 1. / 3, "throughput": 1e21, "write.p99": 5e-324}),
		trial(3, 2, 1, 0, map[string]float64{"iops": 999, "throughput": math.MaxFloat64}),
		trial(4, 2, 2, 1, nil),
		trial(5, 3, 1, 0, map[string]float64{"iops": 1001, "throughput": 4100096, "write.p99": .002}),
		trial(6, 3, 2, 1, map[string]float64{"iops": 1202, "throughput": 4923392, "write.p99": .001}),
	}
	records[3].Void = "fio ended with status 1, \"no space\"\nleft"
	records[4].Counters = map[string]float64{"cpu.steal": .25, "iops": 7, "unheard of": 0}
	return Run{
		Study: "queue depth", Workload: "storage", Labels: []string{"storage.threads=1", "storage.threads=2"},
		Metrics: []measure.Metric{
			{Name: "iops", Unit: "1/s", Better: measure.HigherIsBetter},
			{Name: "throughput", Unit: "B/s", Better: measure.HigherIsBetter},
			{Name: "write.p99", Unit: "s", Better: measure.LowerIsBetter},
			{Name: "cpu.steal", Unit: "1"},
		},
		Design:  Design{Seed: 7, Headlines: []string{"iops", "write.p99"}, Margin: .02, Level: .95, Error: .0125, Looks: []int{6, 9}, Least: 6, Planned: 9, Order: "balanced"},
		Records: records, Testbed: map[string]string{"cpu.model": "a\nb", "Kernel release": "6.1"},
	}
}

func TestGolden(t *testing.T) {
	for _, format := range []string{"csv", "json", "benchfmt"} {
		var out bytes.Buffer
		if err := Write(&out, sampleRun(), format); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join("testdata", "export", format+".txt")
		if *update {
			if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	err := Write(new(bytes.Buffer), Run{}, "xlsx")
	if err == nil || err.Error() != `unknown format "xlsx"; known: json, csv, parquet, benchfmt, openmetrics, otlp, hcibench` {
		t.Errorf("got %v", err)
	}
}

func TestEmptyRun(t *testing.T) {
	for _, f := range formats {
		var out bytes.Buffer
		if err := f.write(&out, Run{}); err != nil || out.Len() == 0 {
			t.Errorf("%s: %d bytes, %v", f.name, out.Len(), err)
		}
	}
}

// Every digit survives, and each value of each trial is there once.
func TestCSVHoldsEveryValue(t *testing.T) {
	var out bytes.Buffer
	run := sampleRun()
	if err := writeCSV(&out, run); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, l := range lines[1:] {
		if l[8] == "" {
			if l[0] != "4" || l[6] != "false" || l[7] != run.Records[3].Void || l[10] != "" {
				t.Errorf("a row without metric: %q", l)
			}
			continue
		}
		v, err := strconv.ParseFloat(l[10], 64)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(l[8], "counts.") {
			continue
		}
		if _, twice := got[l[0]+l[8]]; twice {
			t.Errorf("trial %s has %s twice", l[0], l[8])
		}
		got[l[0]+l[8]] = v
	}
	n := 0
	for _, r := range run.Records {
		for name, v := range r.Values {
			n++
			if got[strconv.Itoa(r.Trial)+name] != v {
				t.Errorf("trial %d: %s is %v instead of %v", r.Trial, name, got[strconv.Itoa(r.Trial)+name], v)
			}
		}
	}
	if extra := len(got) - n; extra != 2 { // the counters that no value hides
		t.Errorf("%d values beside those of the workload, want 2", extra)
	}
}

// parquetRow is a row as another library reads it.
type parquetRow struct {
	Trial    int64    `parquet:"trial"`
	Phase    string   `parquet:"phase"`
	Block    int64    `parquet:"block"`
	Slot     int64    `parquet:"slot"`
	Arm      int64    `parquet:"arm"`
	Label    string   `parquet:"label"`
	Valid    bool     `parquet:"valid"`
	Void     string   `parquet:"void"`
	Metric   string   `parquet:"metric"`
	Unit     string   `parquet:"unit"`
	Value    *float64 `parquet:"value,optional"`
	Better   string   `parquet:"better"`
	Headline bool     `parquet:"headline"`
	Study    string   `parquet:"study"`
	Seed     string   `parquet:"seed"`
	Margin   float64  `parquet:"margin"`
	Level    float64  `parquet:"level"`
	Error    float64  `parquet:"error"`
	Looks    string   `parquet:"looks"`
	Least    int64    `parquet:"least"`
	Pilot    int64    `parquet:"pilot"`
}

func TestParquetReadsBackAsTheRows(t *testing.T) {
	run := sampleRun()
	for range 9 {
		run.Records = append(run.Records, run.Records...)
	}
	for name, records := range map[string][]measure.Record{"none": nil, "one": run.Records[:1], "many": run.Records} {
		run.Records = records
		for _, most := range []int64{1, 1000, groupRows} {
			if most == 1 && name == "many" {
				continue
			}
			var out bytes.Buffer
			if err := writeGroups(&out, run, most); err != nil {
				t.Fatal(err)
			}
			got, err := parquet.Read[parquetRow](bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for one := range run.rows() {
				if n == len(got) {
					t.Fatalf("%s, groups of %d rows: only %d rows", name, most, n)
				}
				for i, c := range run.columns() {
					field := reflect.ValueOf(got[n]).Field(i).Interface()
					if diff := cmp.Diff(c.cell(&one), field); diff != "" {
						t.Fatalf("%s, groups of %d rows, row %d, %s (-want +got):\n%s", name, most, n, c.name, diff)
					}
				}
				n++
			}
			if n != len(got) {
				t.Errorf("%s, groups of %d rows: %d rows instead of %d", name, most, len(got), n)
			}
		}
	}
}

func TestJSONReadsBackAsTheRecords(t *testing.T) {
	var out bytes.Buffer
	run := sampleRun()
	if err := writeJSON(&out, run); err != nil {
		t.Fatal(err)
	}
	var got exported
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run.Records, got.Records); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBenchmarkNames(t *testing.T) {
	one := func(arm int, factor, level string) measure.Record {
		return measure.Record{Arm: arm, Levels: map[string]string{factor: level, "storage.size": "1GiB"}}
	}
	for _, c := range []struct {
		name    string
		records []measure.Record
		want    []string
	}{
		{"one arm", []measure.Record{one(0, "storage.threads", "1")}, []string{"BenchmarkStorage"}},
		{"parameter", []measure.Record{one(0, "storage.threads", "1"), one(1, "storage.threads", "2")}, []string{"BenchmarkStorage/threads=1", "BenchmarkStorage/threads=2"}},
		{"host", []measure.Record{one(0, "host.scheduler:sda", "none"), one(1, "host.scheduler:sda", "mq-deadline")}, []string{"BenchmarkStorage/host.scheduler:sda=none", "BenchmarkStorage/host.scheduler:sda=mq-deadline"}},
		{"like a number of CPUs", []measure.Record{one(0, "host.affinity", "0-1"), one(1, "host.affinity", "0-1,3")}, []string{"BenchmarkStorage/host.affinity=0_1", "BenchmarkStorage/host.affinity=0-1,3"}},
		{"the same after cleaning", []measure.Record{one(0, "storage.x", "a b"), one(1, "storage.x", "a/b")}, []string{"BenchmarkStorage/x=a_b", "BenchmarkStorage/x=a_b/arm=1"}},
	} {
		names := Run{Workload: "storage", Records: c.records}.benchmarks()
		for arm, want := range c.want {
			if names[arm] != want {
				t.Errorf("%s: arm %d is %s, want %s", c.name, arm, names[arm], want)
			}
		}
	}
}

// full is a disk without room.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

func TestAFailedWriteIsReported(t *testing.T) {
	run := timed()
	for range 6 {
		run.Records = append(run.Records, run.Records...)
	}
	for _, f := range formats {
		if err := f.write(&full{100}, run); err == nil || !strings.Contains(err.Error(), "write ") {
			t.Errorf("%s: got %v", f.name, err)
		}
	}
}

// A spreadsheet must not take a name for a formula, and numbers stay numbers.
func TestFormulasInCSV(t *testing.T) {
	run := Run{Study: "=s", Labels: []string{"+1+1", "@x"}, Records: []measure.Record{
		{Trial: 1, Arm: 0, Phase: "-main", Values: map[string]float64{"=1+1": -2.5}}, {Trial: 2, Arm: 1, Void: "\t=cmd"},
	}}
	var out bytes.Buffer
	if err := writeCSV(&out, run); err != nil {
		t.Fatal(err)
	}
	want := "1,'-main,0,0,0,'+1+1,true,,'=1+1,,-2.5,,false,'=s,0,0,0,0,,0,0\n2,,0,0,1,'@x,false,'\t=cmd,,,,,false,'=s,0,0,0,0,,0,0\n"
	if _, got, _ := strings.Cut(out.String(), "\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
