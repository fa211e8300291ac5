package table

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/measure/foreign/foreigntest"
)

type (
	values = map[string]float64
	want   = foreigntest.Want
)

func columns(t testing.TB, texts ...string) (all []Column) {
	t.Helper()
	for _, text := range texts {
		c, err := ParseColumn(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func TestCSV(t *testing.T) {
	f := CSV(columns(t, "throughput=mb_per_s:MB/s", "p99=lat_p99:ms"))
	foreigntest.File(t, f, "testdata/runs.csv",
		want{Values: values{"throughput": 100.5e6, "p99": .0025}}, want{Values: values{"throughput": 101.5e6, "p99": .0024}}, want{Values: values{"throughput": 99e6}})
	if f.Metrics[0].Better != measure.HigherIsBetter || f.Metrics[1].Unit != "s" {
		t.Errorf("metrics %+v", f.Metrics)
	}
	foreigntest.Refused(t, f, "mb_per_s;lat_p99\n1,5;2\n", "line 2", "mb_per_s", "decimal comma")
	foreigntest.Refused(t, f, "mb_per_s,lat_p99\n1.5\n", "line 2", "1 fields instead of 2")
	foreigntest.Refused(t, f, "mb_per_s,other\n1.5,2\n", "line 1", `no column "lat_p99"`, "mb_per_s, other")
	foreigntest.Refused(t, f, "mb_per_s,lat_p99\n1.5,-2\n", "line 2", "negative")
	foreigntest.Refused(t, f, "mb_per_s,lat_p99\nNaN,2\n", "line 2", "possible measurement")
	foreigntest.Refused(t, f, "second,mb_per_s,lat_p99\n1,1.5,2\n2,1.5,2\n", "time series", "--map start=second")
	foreigntest.Refused(t, CSV(nil), "a,b\n1,2\n", "--map METRIC=COLUMN")
}

func TestCSVWithTimesAndArms(t *testing.T) {
	f := CSV(columns(t, "operations=tps", "start=timestamp", "arm=side"))
	runs, err := f.Parse(foreign.NewText(strings.NewReader("timestamp;side;tps\n2024-01-02T03:04:05Z;old;10\n1704164645;new;20\n")))
	if err != nil || len(runs) != 2 || runs[1].Levels["csv.side"] != "new" || runs[1].Values["operations"] != 20 || !runs[0].Start.Equal(runs[1].Start) {
		t.Errorf("runs %+v, %v", runs, err)
	}
}

func TestMistakesInMappings(t *testing.T) {
	for text, part := range map[string]string{"p99": "METRIC=COLUMN", "=a": "METRIC=COLUMN", "p99=a:furlong": "unknown unit", "p99=a:MB/s": "p99 is in s"} {
		if _, err := ParseColumn(text); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v, want %q", text, err, part)
		}
	}
}

// log is an interval log of plimsoll's own histograms, whose values are ns, with a class.
func hdrText(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("#[Histogram log format version 1.3]\n#[StartTime: 1438867590.285 (seconds since epoch), Thu Aug 06 13:26:30 UTC 2015]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n")
	for i := range 4 {
		h := measure.NewHistogram()
		for k := range 1000 {
			h.Record(time.Duration(k+1)*time.Microsecond, 1)
		}
		text, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		tag := ""
		if i%2 == 1 {
			tag = "Tag=read,"
		}
		fmt.Fprintf(&b, "%s%d.000,1.000,1.0,%s\n", tag, i, text)
	}
	return b.String()
}

func TestHDR(t *testing.T) {
	f := HDR(time.Nanosecond)
	runs, err := f.Parse(foreign.NewText(strings.NewReader(hdrText(t))))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%+v, %v", runs, err)
	}
	r := runs[0]
	if r.Length != 4*time.Second || r.Counts["operations"] != 4000 || r.Values["operations"] != 1000 || r.Values["read.operations"] != 500 || r.Start.Unix() != 1438867590 {
		t.Errorf("run %+v", r)
	}
	for name, seconds := range (values{"p50": 500e-6, "p99": 990e-6, "read.p90": 900e-6, "max": 1e-3}) {
		if got := r.Values[name]; got < .998*seconds || got > 1.002*seconds {
			t.Errorf("%s is %v, want %v within the width of a bucket", name, got, seconds)
		}
	}
	micro, err := HDR(time.Microsecond).Parse(foreign.NewText(strings.NewReader(hdrText(t))))
	if err != nil || micro[0].Values["p50"] < 999*r.Values["p50"] || micro[0].Values["p50"] > 1001*r.Values["p50"] {
		t.Errorf("in µs p50 is %v, %v", micro[0].Values["p50"], err)
	}
	foreigntest.Refused(t, HDR(0), hdrText(t), "--unit")
	foreigntest.Refused(t, f, "#[Histogram log format version 1.2]\n0.1,1.0,2.0\n", "line 2", "3 fields instead of 4")
	foreigntest.Refused(t, f, "#[Histogram log format version 1.2]\n0.1,1.0,2.0,AAAA\n", "line 2", "V2")
	foreigntest.Refused(t, f, "#[Histogram log format version 1.2]\n0.1,-1.0,2.0,AAAA\n", "line 2", "negative")
	if !f.Sniff([]byte(hdrText(t)[:200])) {
		t.Error("a log is not recognised")
	}
}

// Files of the libraries' own tests. Values are at most half a bucket apart: with two digits and a lowest value of 20,000, as
// in the log of jHiccup, 8,192 or 0.4 %.
func TestHDRFiles(t *testing.T) {
	f := HDR(time.Nanosecond)
	for _, c := range []struct {
		file  string
		want  want
		times values // ns
	}{
		{"testdata/hdr-1.2.hlog", want{ // printed by HdrHistogram_py
			Length: 62.004, Values: values{"operations": 48761 / 62.004}, Counts: map[string]int64{"operations": 48761},
		}, values{"mean": 67632018.54, "p50": 327935, "p90": 409855, "p95": 625475583, "p99": 1427111935, "p99.9": 1745879039, "max": 1803.551e6}},
		{"testdata/hdr-1.1.hlog", want{Length: 63.182, Counts: map[string]int64{"operations": 140003}}, values{"max": 189.792e6}},
		{"testdata/hdr-1.3.hlog", want{ // printed by hdr-histogram-js
			Length: 2.006, Counts: map[string]int64{"operations": 4000, "get.operations": 2000},
		}, values{"mean": 1000505.741, "p50": 1000447, "p90": 1800191, "get.p99": 1980415, "max": 2e6}},
		{"testdata/hdr-tags.hlog", want{Length: 8.005}, values{"max": 2.769e6, "a.max": .426e6, "b.max": 2.769e6, "c.max": .459e6}},
	} {
		foreigntest.File(t, f, c.file, c.want)
		data, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := f.Parse(foreign.NewText(bytes.NewReader(data)))
		if err != nil {
			t.Fatal(err)
		}
		for name, ns := range c.times {
			if got := runs[0].Values[name] * 1e9; math.Abs(got-ns) > .004*ns+8192 {
				t.Errorf("%s: %s is %g ns, want %g", c.file, name, got, ns)
			}
		}
	}
	// An interval of HdrHistogramJS without values and without a head, with white space at the end.
	const empty = "Tag=bo-global-http,1527510686.313,40.807,0.000,HISTFAAAABx4nJNpmSzMwMDACMXMDBDAyCD/HwzgfAB/wwdn "
	runs, err := f.Parse(foreign.NewText(strings.NewReader(empty)))
	if err != nil || !f.Sniff([]byte(empty)) || runs[0].Length.Round(time.Millisecond) != 40807*time.Millisecond || !strings.Contains(runs[0].Void, "no response time") {
		t.Errorf("an interval without values is %+v, %v", runs, err)
	}
}

func TestBenchfmt(t *testing.T) {
	f := Benchfmt()
	foreigntest.File(t, f, "testdata/go.bench",
		want{Tool: "go test", Values: values{"time/op": 154125e-9, "throughput": 64.88e6, "bytes/op": 40418, "allocs/op": 7}, Counts: map[string]int64{"operations": 100}, Levels: map[string]string{"benchfmt.benchmark": "Decode/text=digits-8"}},
		want{Values: values{"time/op": 155328e-9}},
		want{Values: values{"requests/s": 4000, "time/op": 250e-6}, Levels: map[string]string{"benchfmt.benchmark": "Serve-8"}})
	foreigntest.File(t, f, "testdata/go-1.17.bench", lines("Encode/format=json-48", "time/op", 1e-9, 1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425).
		and("Encode/format=gob-48", "time/op", 1e-9, 3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062)...)
	foreigntest.File(t, f, "testdata/go-1.8.bench", lines("FloatSub/100-4", "time/op", 1e-9, 115, 114, 115, 115, 115, 78.8, 78.8, 78.8, 78.8, 78.8)...)
	foreigntest.File(t, f, "testdata/go-throughput.bench", lines("CRC32/poly=IEEE/size=15/align=0-8", "throughput", 1e6, 343.87, 330.50, 345.50, 331.23, 341.73, 326.03, 332.54)...)
	foreigntest.File(t, f, "testdata/go-units.bench", lines("Size", "text", 1, 100).and("NonExact", "text", 1, 100, 101, 101).and("Size", "text", 1, 105).and("NonExact", "text", 1, 101, 101, 101)...)
	foreigntest.Refused(t, f, "BenchmarkX 1 5 ns/op 6\n", "line 1", "truncated")
	foreigntest.Refused(t, f, "BenchmarkX 1 -5 ns/op\n", "line 1", "negative")
	runs, err := f.Parse(foreign.NewText(strings.NewReader("study: x\nUnit write.p99-sec better=lower assume=nothing\n# trial 1\nBenchmarkStorage/threads=2 10 0.5 write.p99-sec 2000 throughput-B/s\n")))
	if err != nil || len(runs) != 1 || runs[0].Tool != "plimsoll" || runs[0].Values["write.p99"] != .5 || runs[0].Values["throughput"] != 2000 {
		t.Errorf("our own export is read as %+v, %v", runs, err)
	}
	if m := runs[0].Metrics[0]; m.Name != "write.p99" || m.Unit != "s" {
		t.Errorf("metric %+v", m)
	}
}

// results are the lines of a benchmark, each with the value of a metric.
type results []want

func lines(benchmark, metric string, factor float64, of ...float64) results {
	return results{}.and(benchmark, metric, factor, of...)
}

func (r results) and(benchmark, metric string, factor float64, of ...float64) results {
	for _, v := range of {
		r = append(r, want{Tool: "go test", Values: values{metric: v * factor}, Levels: map[string]string{"benchfmt.benchmark": benchmark}})
	}
	return r
}

// Units as the Go benchmark format names them.
func TestUnitsOfBenchmarks(t *testing.T) {
	for unit, of := range map[string]struct {
		name, unit string
		factor     float64
	}{"p99-ns": {"p99", "s", 1e-9}, "peak-RSS-bytes": {"peak-RSS", "B", 1}, "GC-sec": {"GC", "s", 1}, "requests/s": {"requests/s", "1", 1}, "-ns": {"-ns", "1", 1}} {
		m, factor := (&bench{}).metric(unit)
		if m.Name != of.name || m.Unit != of.unit || factor != of.factor {
			t.Errorf("%s is %+v times %g, want %+v", unit, m, factor, of)
		}
	}
}

func FuzzBenchfmt(f *testing.F) { foreigntest.Fuzz(f, Benchfmt(), "testdata/*.bench") }

func FuzzCSV(f *testing.F) {
	foreigntest.Fuzz(f, CSV(columns(f, "throughput=mb_per_s:MB/s", "p99=lat_p99:ms")), "testdata/runs.csv")
}

func FuzzHDR(f *testing.F) {
	f.Add([]byte(hdrText(f)))
	files, err := filepath.Glob("testdata/*.hlog")
	if err != nil || len(files) == 0 {
		f.Fatalf("no logs: %v", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := HDR(time.Microsecond).Parse(foreign.NewText(bytes.NewReader(data)))
		for i := range runs {
			if record := runs[i].Record(); err == nil && runs[i].Check() == nil && record.Plausible() != nil {
				t.Errorf("the check passes %+v", record)
			}
		}
	})
}
