package imported

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
)

func imported(t *testing.T, paths ...string) *Results {
	t.Helper()
	in, err := Import(paths...)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Histograms) != len(in.Records) {
		t.Fatalf("%d histograms of %d records", len(in.Histograms), len(in.Records))
	}
	for i, r := range in.Records {
		if r.Trial != i+1 || r.Arm >= len(in.Labels) || !slices.Contains(r.Warnings, notRandomised) || r.Checks[0].State != measure.Unknown {
			t.Errorf("record %d is %+v", i, r)
		}
	}
	return in
}

// tree is what fio printed, by path of its keys: an oracle that shares no code.
func tree(t *testing.T, name string) func(keys ...any) float64 {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	return func(keys ...any) float64 {
		at := root
		for _, k := range keys {
			switch k := k.(type) {
			case string:
				at = at.(map[string]any)[k]
			case int:
				at = at.([]any)[k]
			}
		}
		return at.(float64)
	}
}

func close(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestImportOfBins(t *testing.T) {
	const name = "testdata/fio/plus.json"
	in, fio := imported(t, name), tree(t, name)
	if len(in.Records) != 1 || in.Name != "plus.json" || in.Tools[0] != "fio 3.33" || in.Labels[0] != "baseline" {
		t.Fatalf("got %+v", in)
	}
	r := in.Records[0]
	for _, class := range []string{"read", "write"} {
		close(t, class+".iops", r.Values[class+".iops"], fio("jobs", 0, class, "iops"), 1e-6)
		close(t, class+".throughput", r.Values[class+".throughput"], fio("jobs", 0, class, "bw_bytes"), .001)
		close(t, class+".mean", r.Values[class+".mean"], fio("jobs", 0, class, "lat_ns", "mean")/1e9, 1e-9)
		close(t, class+".max", r.Values[class+".max"], fio("jobs", 0, class, "lat_ns", "max")/1e9, 1e-9)
		close(t, class+".p95", r.Values[class+".p95"], fio("jobs", 0, class, "lat_ns", "percentile", "95.000000")/1e9, .01)
		if n := in.Histograms[0][class].Count(); float64(n) != fio("jobs", 0, class, "total_ios") || n != r.Counts[class+".operations"] {
			t.Errorf("%s: %d in the histogram, %d counted", class, n, r.Counts[class+".operations"])
		}
	}
	close(t, "iops", r.Values["iops"], r.Values["read.iops"]+r.Values["write.iops"], 1e-12)
	weighted := (r.Values["read.mean"]*float64(r.Counts["read.operations"]) + r.Values["write.mean"]*float64(r.Counts["write.operations"])) / float64(r.Counts["operations"])
	close(t, "mean", r.Values["mean"], weighted, 1e-12)
	if in.Histograms[0][""].Count() != r.Counts["operations"] {
		t.Error("the histogram of all classes is not the sum of its classes")
	}
	if _, ok := r.Values["p99.99"]; ok {
		t.Error("p99.99 of some thousand operations was printed")
	}
	want := map[string]string{"block": "4KiB", "read": "30%", "random": "100%", "threads": "2", "engine": "psync", "direct": "true"}
	for name, level := range want {
		if r.Levels["storage."+name] != level {
			t.Errorf("storage.%s is %q, want %q", name, r.Levels["storage."+name], level)
		}
	}
	if r.End.Sub(r.Start) != time.Duration(r.Window.End*1e9) || r.Window.Steady != measure.SteadyUnknown {
		t.Errorf("from %v to %v, window %+v", r.Start, r.End, r.Window)
	}
}

func TestImportOfPercentiles(t *testing.T) {
	const name = "testdata/fio/percentiles.json"
	in, fio := imported(t, name), tree(t, name)
	r := in.Records[0]
	close(t, "p99", r.Values["write.p99"], fio("jobs", 0, "write", "clat_ns", "percentile", "99.000000")/1e9, 1e-9)
	close(t, "mean", r.Values["mean"], fio("jobs", 0, "write", "lat_ns", "mean")/1e9, 1e-9)
	if _, ok := r.Values["p99.9"]; ok {
		t.Error("p99.9 of 2500 operations was printed")
	}
	if len(in.Histograms[0]) != 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "(clat)") {
		t.Errorf("histograms %v, warnings %q", in.Histograms[0], r.Warnings)
	}
	// Two jobs: their rates add, their percentiles do not.
	in = imported(t, "testdata/fio/two.json")
	r, fio = in.Records[0], tree(t, "testdata/fio/two.json")
	close(t, "iops", r.Values["iops"], fio("jobs", 0, "read", "iops")+fio("jobs", 1, "read", "iops"), 1e-6)
	for _, q := range measure.Quantiles {
		if _, ok := r.Values[q.Name]; ok {
			t.Errorf("%s was made of two jobs without bins", q.Name)
		}
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "cannot be averaged") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestJobsThatWaitAreRunsOfTheirOwn(t *testing.T) {
	in := imported(t, "testdata/fio/stonewall.json")
	if len(in.Records) != 2 || in.Records[0].Levels["storage.block"] != "4KiB" || in.Records[1].Levels["storage.block"] != "64KiB" || in.Records[1].Levels["storage.read"] != "100%" {
		t.Fatalf("got %+v", in.Records)
	}
	// Groups that ran longer in sum than the whole did so beside each other.
	doc := fioDocument{Jobs: []fioJob{{Group: 0, Elapsed: 61, Read: fioDirection{Runtime: 60000}}, {Group: 1, Elapsed: 61, Read: fioDirection{Runtime: 60000}}}}
	if n := len(doc.phases()); n != 1 {
		t.Errorf("groups side by side became %d runs", n)
	}
	if want := "storage.block=64KiB, storage.random=0%, storage.read=100%"; in.Labels[1] != want || in.Records[1].Arm != 1 {
		t.Errorf("arm %d is %q, want %q", in.Records[1].Arm, in.Labels[1], want)
	}
}

func TestTheLastCumulativeDocumentCounts(t *testing.T) {
	data, err := os.ReadFile("testdata/fio/stream.txt")
	if err != nil {
		t.Fatal(err)
	}
	doc, warnings, err := parseFio(data)
	if err != nil || len(warnings) != 0 {
		t.Fatal(err, warnings)
	}
	whole := doc.Jobs[0].Read.Operations
	// Cut off in the middle of the last document, as when fio was killed.
	doc, warnings, err = parseFio(data[:len(data)-2000])
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "truncated document") || doc.Jobs[0].Read.Operations >= whole {
		t.Errorf("got %v, %v", warnings, err)
	}
}

func TestRunsOfOneArmAreItsBlocks(t *testing.T) {
	in := imported(t, "testdata/fio/plus.json", "testdata/fio/percentiles.json", "testdata/fio/plus.json")
	if in.Name != "plus.json and 2 more" || len(in.Labels) != 2 {
		t.Fatalf("got %q, %q", in.Name, in.Labels)
	}
	for i, want := range [][2]int{{0, 1}, {1, 1}, {0, 2}} {
		if r := in.Records[i]; r.Arm != want[0] || r.Block != want[1] {
			t.Errorf("record %d: arm %d, block %d", i, r.Arm, r.Block)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, want string }{
		{"empty.json", "", "is empty"},
		{"other.json", `{"jobs": 3}`, "line 1: "},
		{"foreign.json", `{"name": "x"}`, "no result of fio"},
		{"cut.json", "fio: note\n{\n\"fio version\": \"fio-3.33\",\n\"jobs\": [", "line 4: truncated document"},
		{"broken.json", "{\n\"fio version\": \"fio-3.33\",\n\"jobs\": [,]}", "line 3: invalid character"},
		{"none.json", `{"fio version": "fio-3.33", "jobs": []}`, "no job"},
		{"idle.json", `{"fio version": "fio-3.33", "jobs": [{"jobname": "a"}]}`, "no operation was performed"},
		{"failed.json", `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 5}]}`, `fio reported error 5 in job "a"`},
		{"killed.json", `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 28, "read": {"total_ios": 5, "runtime": 10}}]}`, `fio reported error 28`},
		{"negative.json", `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"total_ios": -5, "runtime": 10}}]}`, "is negative"},
		{"bin.json", `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"total_ios": 5, "runtime": 10, "lat_ns": {"N": 5, "mean": 3, "bins": {"x": 5}}}}]}`, `bin "x"`},
		{"instant.json", `{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "read": {"total_ios": 5, "lat_ns": {"N": 5, "mean": 3}}}]}`, "in zero time"},
	} {
		path := filepath.Join(dir, c.name)
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Import(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := Import(filepath.Join(dir, "absent.json")); err == nil || !strings.Contains(err.Error(), "absent.json") {
		t.Errorf("got %v", err)
	}
	if _, err := Import(); err == nil {
		t.Error("nothing was imported without complaint")
	}
}

// Files of fio 3.33 with options that change what it reports, and of fio 2.1.4.
func TestVariantsOfFio(t *testing.T) {
	for _, c := range []struct {
		file    string
		iops    []any // the path of the rate in fio's document
		classes []string
		p99     float64 // s; 0 for none
		warning string
	}{
		{"unified-1.json", []any{"jobs", 0, "mixed", "iops"}, nil, 4, ""},
		{"unified-1-plus.json", []any{"jobs", 0, "mixed", "iops"}, nil, 4, ""},
		{"unified-both.json", []any{"jobs", 0, "mixed", "iops"}, []string{"read", "write"}, 0, "cannot be averaged"},
		{"gtod.json", nil, []string{"read", "write"}, 0, "fio kept no latencies"},
		{"old-2.1.4.json", []any{"jobs", 0, "read", "iops"}, []string{"read"}, 402e-6, ""},
	} {
		in := imported(t, "testdata/fio/"+c.file)
		r, fio := in.Records[0], tree(t, "testdata/fio/"+c.file)
		if c.iops != nil {
			close(t, c.file+" iops", r.Values["iops"], fio(c.iops...), .002)
		}
		close(t, c.file+" throughput", r.Values["throughput"], 4096*r.Values["iops"], .001)
		for _, class := range []string{"read", "write"} {
			if _, ok := r.Values[class+".iops"]; ok != slices.Contains(c.classes, class) {
				t.Errorf("%s: %s.iops is there: %v", c.file, class, ok)
			}
		}
		if got, ok := r.Values["p99"]; ok != (c.p99 > 0) || c.p99 > 0 && c.p99 < 1 && math.Abs(got/c.p99-1) > 1e-9 {
			t.Errorf("%s: p99 is %v", c.file, got)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), c.warning) {
			t.Errorf("%s: warnings %q", c.file, r.Warnings)
		}
		if _, ok := r.Values["mean"]; ok == (c.file == "gtod.json") {
			t.Errorf("%s: a mean is there: %v", c.file, ok)
		}
	}
	if _, err := Import("testdata/fio/trim.json"); err == nil || !strings.Contains(err.Error(), "only trims") {
		t.Errorf("trims alone: %v", err)
	}
	r := imported(t, "testdata/fio/old-2.1.4.json").Records[0]
	close(t, "mean", r.Values["mean"], 119.1e-6, 1e-9)
	if r.Counts["operations"] != 70400 {
		t.Errorf("%d operations", r.Counts["operations"])
	}
}

func TestOneJobOfSeveral(t *testing.T) {
	const file = "testdata/fio/two-kinds.json"
	all := imported(t, file)
	if len(all.Records) != 2 || !slices.Equal(all.Jobs(), []string{"reads", "writes"}) {
		t.Fatalf("%d records of %q", len(all.Records), all.Jobs())
	}
	one, err := Read(Source{Job: "writes", Files: []string{file}})
	if err != nil || len(one.Records) != 1 || one.Records[0].Values["iops"] != all.Records[1].Values["iops"] {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := Read(Source{Job: "trims", Files: []string{file}}); err == nil || !strings.Contains(err.Error(), "it has reads, writes") {
		t.Errorf("%v", err)
	}
}

// Other text may stand around a document, braces included.
func TestTextAroundADocument(t *testing.T) {
	data, err := os.ReadFile("testdata/fio/percentiles.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, before := range []string{"fio: warning {not JSON\n", "{\"k\": 1}\n", "{ broken\n", "a\r\n\r\n  "} {
		if _, _, err := parseFio([]byte(before + string(data) + "\ndone {\n")); err != nil {
			t.Errorf("%q: %v", before, err)
		}
	}
}

func TestABrokenJobIsVoid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.json")
	text := `{"fio version": "fio-3.33", "client_stats": [
		{"jobname": "b", "groupid": 1, "hostname": "one", "read": {"total_ios": 50, "io_bytes": 204800, "runtime": 1000, "lat_ns": {"N": 50, "mean": 3000, "max": 9000}}},
		{"jobname": "a", "hostname": "one", "error": 28, "write": {"total_ios": 50, "io_bytes": 204800, "runtime": 1000, "lat_ns": {"N": 50, "mean": 3000, "max": 9000}}},
		{"jobname": "a", "hostname": "two", "total_err": 7, "write": {"total_ios": 150, "io_bytes": 614400, "runtime": 1000, "lat_ns": {"N": 150, "mean": 1000, "max": 5000}}},
		{"jobname": "All clients", "write": {"total_ios": 200, "io_bytes": 819200, "runtime": 1000, "lat_ns": {"N": 200, "mean": 1500}}}]}`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := imported(t, path).Records[1]
	if r.Void != `fio reported error 28 in job "a"` || r.Values["iops"] != 200 || r.Counts["errors"] != 7 || r.Values["throughput"] != 819200 {
		t.Errorf("got %+v", r)
	}
	close(t, "mean", r.Values["mean"], 1.5e-6, 1e-12)
	close(t, "max", r.Values["max"], 9e-6, 1e-12)
}

func TestLevels(t *testing.T) {
	for text, want := range map[string]string{"4k": "4KiB", "4096": "4KiB", "1M": "1MiB", "1536": "1536B", "512": "512B", "1g": "1GiB", "4k,8k": "", "0": "", "-4k": "", "99999999999g": ""} {
		if got := size(text); got != want {
			t.Errorf("size %q is %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{map[string]string{"rw": "randrw"}, "50%/100%"},
		{map[string]string{"rw": "randrw", "rwmixwrite": "70"}, "30%/100%"},
		{map[string]string{"readwrite": "rw", "rwmixread": "70"}, "70%/0%"},
		{map[string]string{"rw": "randread", "percentage_random": "40"}, "100%/40%"},
		{map[string]string{"rw": "trim"}, "/"},
	} {
		got := fioLevels(nil, []fioJob{{Options: c.options}})
		if s := got["storage.read"] + "/" + got["storage.random"]; s != c.want {
			t.Errorf("%v: got %s, want %s", c.options, s, c.want)
		}
	}
	if got := fioLevels(map[string]string{"bs": "4k", "iodepth": "8"}, []fioJob{{}, {Options: map[string]string{"bs": "8k"}}}); got["storage.depth"] != "8" || len(got) != 1 {
		t.Errorf("jobs that disagree: got %v", got)
	}
}

func FuzzFio(f *testing.F) {
	// Small, because the fuzzer spends its time on making large seeds smaller.
	f.Add([]byte(`{"fio version":"fio-3.33","jobs":[{"jobname":"a","groupid":1,"elapsed":2,"read":{"io_bytes":4096,"total_ios":2,"runtime":10,"lat_ns":{"N":2,"mean":3.5,"max":9,"percentile":{"50.000000":3},"bins":{"3":1,"4":1}}}}]}`))
	f.Add([]byte("note\n{\"fio version\":\"fio-3.1\",\"client_stats\":[{\"jobname\":\"All clients\"},{\"job options\":{\"bs\":\"4k\"}}]} {"))
	f.Add([]byte(`{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "write": {"total_ios": 5, "runtime": 9223372036854775807, "lat_ns": {"N": 5, "mean": 3, "bins": {"9223372036854775807": 5}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, _, err := parseFio(data)
		if err != nil {
			return
		}
		for _, jobs := range doc.phases() {
			p := newPool()
			for i := range jobs {
				if p.add(&jobs[i]) != nil {
					return
				}
			}
			r, _ := p.record()
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("a record that cannot be written: %v", err)
			}
			for name, v := range r.Values {
				if v < 0 {
					t.Errorf("%s is %v", name, v)
				}
			}
		}
	})
}
