package imported

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/measure/hcibench"
)

// hcibenchTest lays out a test of HCIBench: two machines for each case, of which the one
// is an exact copy of the other, and other files that HCIBench keeps there.
func hcibenchTest(t *testing.T, cases map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "easy-run")
	for name, fixture := range cases {
		data, err := os.ReadFile("testdata/fio/" + fixture)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"vm-1-ds-1.json", "vm-2-ds-1.json"} {
			put(t, string(data), dir, name, file)
		}
		put(t, `{"cluster": {"cpu usage": 12.5}}`, dir, name, "resource_usage.json")
		put(t, "number_vm: 2\n", dir, name, "hcibench.cfg")
	}
	return dir
}

func put(t *testing.T, text string, path ...string) {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	oneThread  = "fio-2vmdk-100ws-4k-30rdpct-100randompct-1threads-1511829572"
	twoThreads = "fio-2vmdk-100ws-4k-30rdpct-100randompct-2threads-1511918222"
	summary    = "Datastore     = ds 1\n=============================\nJOB_NAME\t= job0\nVMs\t\t= 2\nIOPS\t\t= 1000.50 IO/S\nTHROUGHPUT\t= 3.91 MB/s\nR_LATENCY\t= 2.0000 ms\nW_LATENCY\t= 0.0000 ms\n95%tile_R_LAT\t= 4.0000 ms\n95%tile_W_LAT\t= 0.0000 ms\n=============================\nResource Usage:\nCPU USAGE  = 20%\n"
)

func TestImportOfHCIBench(t *testing.T) {
	dir := hcibenchTest(t, map[string]string{oneThread: "plus.json", twoThreads: "plus.json"})
	in, single := imported(t, dir), imported(t, "testdata/fio/plus.json").Records[0]
	if in.Name != "easy-run" || len(in.Records) != 2 || !slices.Equal(in.Labels, []string{"storage.depth=1", "storage.depth=2"}) || !slices.Equal(in.Tools, []string{"HCIBench"}) {
		t.Fatalf("got %q, %q, %d records, %q", in.Name, in.Labels, len(in.Records), in.Tools)
	}
	r := in.Records[0]
	close(t, "iops", r.Values["iops"], 2*single.Values["iops"], 1e-12)
	close(t, "throughput", r.Values["throughput"], 2*single.Values["throughput"], 1e-12)
	// Two equal machines: merging gives the quantiles of one.
	close(t, "p95", r.Values["p95"], single.Values["p95"], 1e-12)
	close(t, "mean", r.Values["mean"], single.Values["mean"], 1e-12)
	if got := in.Histograms[0][""].Count(); got != 2*single.Counts["operations"] {
		t.Errorf("%d response times, want %d", got, 2*single.Counts["operations"])
	}
	for name, level := range map[string]string{"disks": "2", "working_set": "100%", "block": "4KiB", "read": "30%", "random": "100%", "depth": "1"} {
		if r.Levels["storage."+name] != level {
			t.Errorf("storage.%s is %q, want %q", name, r.Levels["storage."+name], level)
		}
	}
	if r.Start.Unix() != 1511829572 {
		t.Errorf("started %v", r.Start)
	}
	// One case alone.
	in = imported(t, filepath.Join(dir, twoThreads))
	if len(in.Records) != 1 || in.Records[0].Levels["storage.depth"] != "2" {
		t.Errorf("got %+v", in.Records)
	}
}

func TestSummaryBesideAndInsteadOfMachines(t *testing.T) {
	dir := hcibenchTest(t, map[string]string{oneThread: "plus.json"})
	put(t, summary, dir, oneThread+hcibench.SummarySuffix)
	r := imported(t, dir).Records[0]
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "summary has 1000.50 IOPS") {
		t.Errorf("a summary that differs was passed over: %q", r.Warnings)
	}
	put(t, summary, dir, twoThreads+hcibench.SummarySuffix)
	in := imported(t, dir)
	if len(in.Records) != 2 {
		t.Fatalf("%d records", len(in.Records))
	}
	r = in.Records[1]
	if r.Values["iops"] != 1000.5 || r.Values["read.mean"] != .002 || r.Levels["storage.depth"] != "2" || in.Histograms[1] != nil {
		t.Errorf("got %+v", r)
	}
	close(t, "throughput", r.Values["throughput"], 3.91*(1<<20), 1e-12)
	for name := range r.Values {
		if strings.Contains(name, "p95") || name == "write.mean" {
			t.Errorf("%s was taken from averages", name)
		}
	}
	// Datastores: rates add, latencies do not.
	put(t, summary+summary, dir, twoThreads+hcibench.SummarySuffix)
	if r = imported(t, dir).Records[1]; r.Values["iops"] != 2001 || len(r.Values) != 2 {
		t.Errorf("got %v", r.Values)
	}
}

func TestMachinesThatFinishedEarlyAreLeftOut(t *testing.T) {
	dir := hcibenchTest(t, map[string]string{oneThread: "plus.json"})
	data, err := os.ReadFile("testdata/fio/plus.json")
	if err != nil {
		t.Fatal(err)
	}
	put(t, strings.ReplaceAll(string(data), `"elapsed" : 1`, `"elapsed" : 100`), dir, oneThread, "vm-3-ds-1.json")
	r := imported(t, dir).Records[0]
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "2 of 3 machines finished early") {
		t.Errorf("warnings %q", r.Warnings)
	}
	close(t, "iops", r.Values["iops"], imported(t, "testdata/fio/plus.json").Records[0].Values["iops"], 1e-12)
}

func TestJobsOneAfterTheOtherAreCasesOfTheirOwn(t *testing.T) {
	in := imported(t, hcibenchTest(t, map[string]string{"mine-1511829572": "stonewall.json"}))
	if len(in.Records) != 2 || in.Records[1].Levels["hcibench.job"] != "2" || in.Records[1].Levels["hcibench.parameters"] != "mine" {
		t.Errorf("got %+v", in.Records)
	}
}

func TestFoldersRefused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ file, text, want string }{
		"nothing": {"notes.txt", "", "no results of HCIBench"},
		"plain":   {"a.json", "{}", "name the files"},
		"damaged": {oneThread + "/vm.json", `{"fio version": "fio-3.33", "jobs": [`, "vm.json: line 1"},
		"emptied": {oneThread + "/hcibench.cfg", "", "no result of fio"},
		"summary": {oneThread + hcibench.SummarySuffix, "JOB_NAME = a\nIOPS = many IO/S\n", "res.txt: line 2: IOPS"},
	} {
		put(t, c.text, dir, name, c.file)
		if _, err := Import(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// What stands in the place of a file of a folder is not waited for, and not read without end.
func TestFoldersWithoutFiles(t *testing.T) {
	for kind, place := range map[string]func(name string) error{
		"pipe":   func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"zero":   func(name string) error { return os.Symlink("/dev/zero", name) },
		"loop":   func(name string) error { return os.Symlink(filepath.Base(name), name) },
		"folder": func(name string) error { return os.Mkdir(name, 0o700) },
	} {
		for _, file := range []string{oneThread + "/vm-2-ds-1.json", oneThread + hcibench.SummarySuffix} {
			dir := hcibenchTest(t, map[string]string{oneThread: "plus.json"})
			name := filepath.Join(dir, file)
			if err := errors.Join(os.RemoveAll(name), place(name)); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { _, err := Import(dir); ended <- err }()
			select {
			case err := <-ended:
				if err == nil {
					t.Errorf("%s is a %s, and is taken in", file, kind)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%s as a %s: reading it does not end", file, kind)
			}
		}
	}
}

func FuzzSummary(f *testing.F) {
	f.Add([]byte(summary))
	f.Add([]byte(summary + summary))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := hcibench.ParseSummary(data)
		if err != nil {
			return
		}
		for i := range s.Jobs {
			for name, v := range jobRecord(&s.Jobs[i]).Values {
				if !(v >= 0) {
					t.Errorf("%s is %v", name, v)
				}
			}
		}
	})
}

func FuzzCase(f *testing.F) {
	f.Add(oneThread)
	f.Add("vdb-8vmdk-100ws-256k-0rdpct-0randompct-4threads")
	f.Fuzz(func(t *testing.T, name string) {
		for factor, level := range caseLevels(hcibench.ParseName(name).Load) {
			if level == "" || !strings.HasPrefix(factor, "storage.") && !strings.HasPrefix(factor, "hcibench.") {
				t.Errorf("%q: %s is %q", name, factor, level)
			}
		}
	})
}
