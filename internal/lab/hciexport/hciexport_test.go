package hciexport

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	read "plimsoll/internal/measure/imported"
)

func imported(t *testing.T, dir string) *read.Results {
	t.Helper()
	in, err := read.Import(dir)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// same compares the metrics of a record with those of what was exported and imported again.
func same(t *testing.T, want, got *measure.Record, tolerance float64) {
	t.Helper()
	if len(want.Values) == 0 {
		t.Fatal("nothing to compare")
	}
	for name, v := range want.Values {
		if strings.HasSuffix(name, ".errors") { // fio counts failed operations of all classes together
			continue
		}
		if w, there := got.Values[name]; !there || math.Abs(w-v) > tolerance*math.Abs(v) {
			t.Errorf("trial %d: %s is %v, exported %v", want.Trial, name, w, v)
		}
	}
	for name, n := range want.Counts {
		if strings.HasSuffix(name, "operations") && got.Counts[name] != n {
			t.Errorf("trial %d: %s is %d, exported %d", want.Trial, name, got.Counts[name], n)
		}
	}
}

const exact = 1e-9 // rounding of floating point

func TestRoundTrip(t *testing.T) {
	f := twoDepths(t)
	out, lines := exported(t, f.dir)
	if want := []string{f.dir + ": 1 void trials are left out", "wrote " + out + ": 4 cases"}; !slices.Equal(lines, want) {
		t.Errorf("said %q, want %q", lines, want)
	}
	in := imported(t, out)
	if !slices.Equal(in.Labels, []string{"storage.depth=1", "storage.depth=8"}) || len(in.Records) != 4 {
		t.Fatalf("%d records of the arms %q", len(in.Records), in.Labels)
	}
	r, err := lab.ReadRecorded(few(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range r.Records {
		if !record.Valid() {
			continue
		}
		at := slices.IndexFunc(in.Records, func(got measure.Record) bool { return got.Start.Equal(record.Start.Truncate(time.Second)) })
		if at < 0 {
			t.Fatalf("trial %d is missing", record.Trial)
		}
		same(t, &record, &in.Records[at], exact)
		if in.Records[at].Levels["storage.depth"] != record.Levels["storage.depth"] || len(in.Records[at].Warnings) != 1 {
			t.Errorf("imported with levels %v and the warnings %q", in.Records[at].Levels, in.Records[at].Warnings)
		}
	}
	// The comparison of both reads the same numbers.
	all, err := newLab().ComparePair(f.dir, out, nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d comparisons: %v", len(all), err)
	}
	for _, c := range all {
		if c.Sides[0].Trials != 2 || c.Sides[1].Trials != 2 {
			t.Errorf("arm %s has %d and %d trials", c.Arm, c.Sides[0].Trials, c.Sides[1].Trials)
		}
		for i := range c.Input.Findings.Headlines {
			if h := &c.Input.Findings.Headlines[i]; math.Abs(h.Ratio-1) > exact {
				t.Errorf("arm %s: %s changes by %v", c.Arm, h.Metric.Name, h.Ratio)
			}
		}
	}
}

func TestTree(t *testing.T) {
	out, _ := exported(t, twoDepths(t).dir)
	names := list(t, out)
	for _, name := range []string{
		"fio-2vmdk-100ws-4k-70rdpct-100randompct-1threads-1795878020", "fio-2vmdk-100ws-4k-70rdpct-100randompct-1threads-1795878020-res.txt",
		"fio-2vmdk-100ws-4k-70rdpct-100randompct-1threads-1795878020/host-local-0-1.json", "fio-2vmdk-100ws-4k-70rdpct-100randompct-1threads-1795878020/fio.cfg",
		"fio-2vmdk-100ws-4k-70rdpct-100randompct-1threads-1795878020/hcibench.cfg", "fio-2vmdk-100ws-4k-70rdpct-100randompct-8threads-1795878040",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("no %s in %q", name, names)
		}
	}
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(out, name)); err == nil && info.Mode().IsRegular() {
			text, err := os.ReadFile(filepath.Join(out, name))
			if err != nil || strings.Contains(string(text), "password") || strings.Contains(string(text), "username") {
				t.Errorf("%s has an account: %v", name, err)
			}
		}
	}
}

// Three machines of different speed: the summary has plain means over them, and beside them what they are together.
func TestSeveralMachines(t *testing.T) {
	f := newFolder(t, filepath.Join(t.TempDir(), "three"), strings.Replace(depths, "factors:\n  storage.depth: [1, 8]\n", "machines: 3\n", 1))
	record := f.trial(0, "", []string{"m1", "m2", "m3"},
		load{700, 300, time.Millisecond, 4096, 0}, load{700, 300, time.Millisecond, 4096, time.Millisecond}, load{100, 0, 20 * time.Millisecond, 4096, 2 * time.Millisecond})
	out, _ := exported(t, f.dir)
	in := imported(t, out)
	got := &in.Records[0]
	// Their clocks differ by a thousandth.
	for _, name := range []string{"iops", "read.throughput"} {
		if math.Abs(got.Values[name]/record.Values[name]-1) > 2e-3 {
			t.Errorf("%s is %v, exported %v", name, got.Values[name], record.Values[name])
		}
	}
	for _, name := range []string{"p50", "p95", "read.p95", "write.p95", "mean", "max"} {
		if math.Abs(got.Values[name]/record.Values[name]-1) > exact {
			t.Errorf("%s is %v, exported %v", name, got.Values[name], record.Values[name])
		}
	}
	if got.Counts["operations"] != record.Counts["operations"] || len(got.Parts) != 3 || got.Parts[2].Machine != "m3-local-0-3" {
		t.Errorf("%d operations of %d parts, exported %d", got.Counts["operations"], len(got.Parts), record.Counts["operations"])
	}
	for i, p := range got.Parts {
		same(t, &measure.Record{Values: record.Parts[i].Values, Counts: record.Parts[i].Counts}, &measure.Record{Values: p.Values, Counts: p.Counts}, exact)
	}
	text, err := os.ReadFile(filepath.Join(out, list(t, out)[0]+"-res.txt"))
	if err != nil {
		t.Fatal(err)
	}
	plain := 1000 * (record.Parts[0].Values["read.p95"] + record.Parts[1].Values["read.p95"] + record.Parts[2].Values["read.p95"]) / 3
	for _, line := range []string{"VMs\t\t= 3\n", "95%tile_R_LAT\t= " + four(plain) + " ms\n", "read.p95         = " + four(1000*record.Values["read.p95"]) + " ms\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	if plain < 2*1000*record.Values["read.p95"] {
		t.Errorf("the plain mean of the percentiles, %v ms, hides nothing", plain)
	}
}

func four(v float64) string {
	whole := int64(math.Round(v * 1e4))
	text := "0000" + itoa(whole%1e4)
	return itoa(whole/1e4) + "." + text[len(text)-4:]
}

func itoa(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestRefused(t *testing.T) {
	f := twoDepths(t)
	full := t.TempDir()
	put(t, filepath.Join(full, "results.txt"), nil)
	empty := newFolder(t, filepath.Join(t.TempDir(), "empty"), depths)
	void := newFolder(t, filepath.Join(t.TempDir(), "void"), depths)
	void.trial(0, "no steady state", nil, load{700, 300, time.Millisecond, 4096, 0})
	memory := newFolder(t, filepath.Join(t.TempDir(), "memory"), "study: memory\nquestion: How fast?\nplatform: local\nworkload: memory-access\n")
	for name, c := range map[string]struct{ dir, out, want string }{
		"without a folder":   {f.dir, "", "specify it with --out"},
		"a folder with data": {f.dir, full, "is not empty: specify another with --out"},
		"a file":             {f.dir, filepath.Join(full, "results.txt"), "not a directory"},
		"below a file":       {f.dir, filepath.Join(full, "results.txt", "a"), "not a directory"},
		"no trials":          {empty.dir, filepath.Join(full, "a"), "has no valid trial to export"},
		"void trials":        {void.dir, filepath.Join(full, "a"), "has no valid trial to export; " + void.dir + ": 1 void trials are left out"},
		"another workload":   {memory.dir, filepath.Join(full, "a"), "HCIBench's results are of block I/O, and the study memory runs memory-access"},
		"no results folder":  {full, filepath.Join(full, "a"), "is not a results folder"},
	} {
		if _, err := Export(newLab(), c.dir, c.out); err == nil || !strings.Contains(err.Error(), c.want) || !lab.IsMistake(err) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if names := list(t, full); len(names) != 1 {
		t.Errorf("left %q", names)
	}
}
