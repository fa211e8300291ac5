package imported

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
)

// layout imports a test among those of testdata/hcibench. What is imported never has an account of its configuration.
func layout(t *testing.T, name string) *Results {
	t.Helper()
	in := imported(t, filepath.Join("testdata/hcibench", name))
	text, err := json.Marshal(in)
	if err != nil || strings.Contains(string(text), "not-a-secret") || strings.Contains(string(text), "someone@") {
		t.Errorf("%s: an account is in the results: %v", name, err)
	}
	return in
}

func said(r *measure.Record, what string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, what) })
}

// HCIBench 2.8: the last of several documents counts, and a VM without one at its end is left out.
func TestLayoutOf2(t *testing.T) {
	in := layout(t, "2.8/vmtest")
	if len(in.Records) != 1 || in.Records[0].Start.Unix() != 1697702400 {
		t.Fatalf("%d records", len(in.Records))
	}
	r := &in.Records[0]
	close(t, "iops", r.Values["iops"], 3000, 1e-12)
	close(t, "read.iops", r.Values["read.iops"], 2100, 1e-12)
	close(t, "throughput", r.Values["throughput"], 3000*4096, 1e-12)
	// Weighted by operations: a third at 2 ms, two thirds at 1 ms. HCIBench prints 1.50 ms.
	close(t, "read.mean", r.Values["read.mean"], 4e-3/3, 1e-9)
	if r.Counts["operations"] != 900_000 || r.Window.End != 300 {
		t.Errorf("%d operations in %v s", r.Counts["operations"], r.Window.End)
	}
	if _, has := r.Values["read.p95"]; has || !said(r, "percentiles of several jobs cannot be averaged") {
		t.Errorf("percentiles of two VMs: %v, %q", r.Values, r.Warnings)
	}
	if !said(r, "1 of 3 machines finished early and are left out: hci-fio-datastore-1009-2-1.json: fio had 150 s left in its last document") || said(r, "summary has") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if len(r.Parts) != 2 || r.Parts[0].Machine != "hci-fio-datastore-1009-0-1" || r.Parts[0].Values["read.p95"] != 6e-3 || r.Parts[1].Values["iops"] != 2000 {
		t.Errorf("parts %+v", r.Parts)
	}
	want := map[string]string{"storage.disks": "2", "storage.working_set": "100%", "storage.block": "4KiB", "storage.read": "70%", "storage.random": "100%", "storage.depth": "2"}
	if !maps.Equal(r.Levels, want) {
		t.Errorf("levels %v", r.Levels)
	}
}

// HCIBench 3.0: VM groups that ran at the same time are one run, with a result that HCIBench does not have.
func TestLayoutOfGroups(t *testing.T) {
	in := layout(t, "3.0-groups/mixed-test")
	if len(in.Records) != 1 {
		t.Fatalf("%d records", len(in.Records))
	}
	r := &in.Records[0]
	for name, want := range map[string]float64{
		"iops": 3100, "throughput": 3000*4096 + 100<<19, "read.iops": 3000, "write.iops": 100, "group0.iops": 3000, "group1.iops": 100,
		"group0.read.mean": 4e-3 / 3, "group1.write.mean": 20e-3, "mean": (3000*4e-3/3 + 100*20e-3) / 3100, "group1.write.p95": 60e-3,
	} {
		close(t, name, r.Values[name], want, 1e-9)
	}
	if !said(r, combined) || r.Counts["group1.operations"] != 30_000 || r.Counts["operations"] != 930_000 {
		t.Errorf("warnings %q, counts %v", r.Warnings, r.Counts)
	}
	if len(r.Parts) != 3 || r.Parts[1].Group != "group0" || r.Parts[2].Group != "group1" {
		t.Errorf("parts %+v", r.Parts)
	}
	if r.Levels["group0.storage.depth"] != "4" || r.Levels["group1.storage.block"] != "512KiB" {
		t.Errorf("levels %v", r.Levels)
	}
	if !slices.ContainsFunc(in.Metrics, func(m measure.Metric) bool { return m.Name == "group1.write.p95" && m.Better == measure.LowerIsBetter }) {
		t.Error("the metrics of groups are not known")
	}
	// A group alone says that it was not.
	r = &layout(t, "3.0-groups/mixed-test/group1-fio-4vmdk-100ws-512k-0rdpct-0randompct-2threads-1776000000").Records[0]
	if r.Values["iops"] != 100 || !said(r, "this is VM group 1 of a run") {
		t.Errorf("%v, %q", r.Values, r.Warnings)
	}
}

func TestLayoutOfKubernetes(t *testing.T) {
	r := &layout(t, "3.0-kubernetes/pods").Records[0]
	if r.Values["iops"] != 600 || len(r.Parts) != 2 || r.Parts[0].Machine != "hcibench-pod-0-k8s-0" || said(r, "summary") {
		t.Errorf("%v, %q, %+v", r.Values, r.Warnings, r.Parts)
	}
}

// An easy run: latency targets, a case whose VMs all finished early, and one of which the summary is left.
func TestLayoutOfEasyRun(t *testing.T) {
	in := layout(t, "3.0-easy/easy-run-1776200000")
	if len(in.Records) != 3 {
		t.Fatalf("%d records", len(in.Records))
	}
	void, summary, target := &in.Records[0], &in.Records[1], &in.Records[2]
	if !strings.Contains(void.Void, "all VMs finished early: hci-fio-datastore-12-0-1.json: no result of fio") {
		t.Errorf("void: %q", void.Void)
	}
	if summary.Values["iops"] != 12000 || summary.Values["read.mean"] != .8e-3 || summary.Values["throughput"] != 46<<20 || summary.Levels["hcibench.latency_target"] != "1ms" {
		t.Errorf("summary: %v, %v", summary.Values, summary.Levels)
	}
	if _, has := summary.Values["read.p95"]; has {
		t.Error("a mean of percentiles was taken for one")
	}
	if target.Levels["hcibench.latency_target"] != "3ms" || target.Levels["storage.compress"] != "50%" || target.Levels["storage.depth"] != "" || !said(target, "averages over the search") {
		t.Errorf("target: %v, %q", target.Levels, target.Warnings)
	}
	close(t, "p95", target.Values["read.p95"], 6e-3, 1e-12)
}

// vdbench: means weighted by operations, no percentiles, and runs in sequence apart.
func TestLayoutOfVdbench(t *testing.T) {
	in := layout(t, "vdbench/vdtest")
	if len(in.Records) != 3 {
		t.Fatalf("%d records", len(in.Records))
	}
	first, second, r := &in.Records[0], &in.Records[1], &in.Records[2]
	for name, want := range map[string]float64{"iops": 4000, "throughput": 15.63 * (1 << 20), "read.iops": 2800, "write.iops": 1200, "mean": 2.5e-3, "read.mean": 1.875e-3, "max": 80e-3} {
		close(t, name, r.Values[name], want, 1e-9)
	}
	if r.Levels["hcibench.tool"] != "vdbench" || !said(r, averagesOnly) || !said(r, "1 of 3 machines finished early and are left out: hci-vdb-datastore-9-0-3.txt: vdbench printed no averages") || said(r, "summary has") {
		t.Errorf("%v, %q", r.Levels, r.Warnings)
	}
	for name := range r.Values {
		if strings.Contains(name, "p95") || name == "read.throughput" || len(r.Counts) != 0 {
			t.Errorf("%s or a count was made up: %v", name, r.Counts)
		}
	}
	if first.Values["iops"] != 100 || first.Values["max"] != 10e-3 || second.Values["write.iops"] != 200 || second.Values["max"] != 20e-3 || second.Levels["hcibench.job"] != "2" || second.Levels["hcibench.parameters"] != "mine" {
		t.Errorf("%v, %v, %v", first.Values, second.Values, second.Levels)
	}
}

// Groups that cannot be added up are runs of their own.
func TestGroupsThatAreNotCombined(t *testing.T) {
	dir := t.TempDir()
	put(t, summary, dir, "group0-a-1776000000-res.txt")
	put(t, strings.Replace(summary, "Resource", "JOB_NAME\t= job1\nIOPS\t\t= 5 IO/S\nResource", 1), dir, "group1-b-1776000000-res.txt")
	in := imported(t, dir)
	if len(in.Records) != 3 || !said(&in.Records[0], "the groups of the run are not combined") {
		t.Errorf("%d records, %q", len(in.Records), in.Records[0].Warnings)
	}
	// Of summaries alone, rates add and latencies stay with the groups.
	put(t, summary, dir, "group1-b-1776000000-res.txt")
	r := &imported(t, dir).Records[0]
	if r.Values["iops"] != 2001 || r.Values["group1.read.mean"] != .002 {
		t.Errorf("got %v", r.Values)
	}
	for name := range r.Values {
		if name == "mean" || name == "read.mean" {
			t.Errorf("%s of several groups is %v", name, r.Values[name])
		}
	}
}

// The merged block of a summary that plimsoll wrote has percentiles, which outlive the files of the machines.
func TestMergedBlock(t *testing.T) {
	dir := t.TempDir()
	put(t, strings.Replace(summary, "Resource", "Merged\t\t= by plimsoll\niops = 1000.5 IO/S\nread.p95 = 4.5000 ms\nread.throughput = 2.0000 MiB/s\np99.99 = 8.0000 ms\nbest = 1 ms\nResource", 1), dir, oneThread+"-res.txt")
	r := &imported(t, dir).Records[0]
	want := map[string]float64{"iops": 1000.5, "read.p95": 4.5e-3, "read.throughput": 2 << 20, "p99.99": 8e-3}
	for name, v := range want {
		close(t, name, r.Values[name], v, 1e-12)
	}
	if len(r.Values) != len(want) {
		t.Errorf("got %v", r.Values)
	}
}

func TestFoldersOfTests(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "easy-run-1776200000"), os.DirFS("testdata/hcibench/3.0-easy/easy-run-1776200000")); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(dir); err == nil || !strings.Contains(err.Error(), "holds tests of HCIBench: name one of them, such as "+filepath.Join(dir, "easy-run-1776200000")) {
		t.Errorf("got %v", err)
	}
	// A damaged file of plimsoll is an error.
	put(t, "{", dir, "easy-run-1776200000", "fio-4vmdk-100ws-512k-100rdpct-0randompct-3000lt-50compress-50dedupe-1776200100", "plimsoll.info")
	if _, err := Import(filepath.Join(dir, "easy-run-1776200000")); err == nil || !strings.Contains(err.Error(), "plimsoll.info: unexpected end") {
		t.Errorf("got %v", err)
	}
}

// A name with anything in it is read, or is a name of the user's.
func FuzzFolder(f *testing.F) {
	f.Add("group0-"+oneThread, summary)
	f.Add("group9999-vdb-8vmdk-100ws-256k-0rdpct-0randompct-threads-1776000000", "Run Def:\t\nIOPS\t\t= 1 IO/S\n")
	f.Add("mixed-1776000000", "")
	f.Fuzz(func(t *testing.T, name, text string) {
		if name == "" || len(name) > 200 || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
			return
		}
		dir := t.TempDir()
		put(t, text, dir, name+"-res.txt")
		in, err := Import(dir)
		if err != nil {
			return
		}
		for i := range in.Records {
			r := &in.Records[i]
			if len(r.Levels) == 0 || r.Start.After(time.Unix(99_999_999_999, 0)) {
				t.Errorf("%q: %+v", name, r)
			}
		}
	})
}
