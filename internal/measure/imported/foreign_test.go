package imported

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure/foreign/formats"
	"plimsoll/internal/measure/foreign/table"
)

const samples = "../foreign/"

// file writes a file for a test, with a time of modification.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

func pgbenchOf(t *testing.T, clients, tps string) string {
	return file(t, "pgbench.txt", "transaction type: x\nnumber of clients: "+clients+"\nduration: 10 s\nnumber of transactions actually processed: 100\ntps = "+tps+" (without initial connection time)\n")
}

// Every file of the samples is recognised as what it is, and as nothing else.
func TestFormatsAreToldApart(t *testing.T) {
	all := formats.All(formats.Options{})
	names := map[string]bool{}
	for i, f := range all {
		if names[f.Name] || f.Doc == "" || f.Absent == "" || f.Name != "csv" && len(f.Metrics) == 0 {
			t.Errorf("format %d: %+v", i, f)
		}
		names[f.Name] = true
	}
	files, err := filepath.Glob(samples + "*/testdata/*")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		if filepath.Ext(path) == ".md" || strings.HasSuffix(path, "runs.csv") || strings.Contains(path, "/fuzz") {
			continue
		}
		head, err := headOf(path)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for i := range all {
			if all[i].Sniff(head) {
				found = append(found, all[i].Name)
			}
		}
		if len(found) != 1 || !Recognised(path) {
			t.Errorf("%s is recognised as %q", path, found)
		}
	}
	for _, path := range []string{"testdata/fio/plus.json", "testdata/fio/two.json"} {
		if head, err := headOf(path); err != nil || formats.Sniff(all, head) != nil || !Recognised(path) {
			t.Errorf("%s is not fio's, %v", path, err)
		}
	}
	if Recognised(file(t, "x", "{}")) || Recognised(filepath.Join(t.TempDir(), "missing")) {
		t.Error("anything is recognised")
	}
}

func TestFilesAreRepetitions(t *testing.T) {
	in, err := Import(pgbenchOf(t, "8", "100"), pgbenchOf(t, "8", "110"), pgbenchOf(t, "16", "150"))
	if err != nil {
		t.Fatal(err)
	}
	if in.Format != "pgbench" || in.Rate != "transactions" || in.Metrics[0].Name != "transactions" || in.Absent == "" || len(in.Files) != 3 {
		t.Errorf("got %+v", in)
	}
	for i, want := range []struct{ arm, block int }{{0, 1}, {0, 2}, {1, 1}} {
		r := in.Records[i]
		if r.Trial != i+1 || r.Arm != want.arm || r.Block != want.block || r.Warnings[0] != notRandomised {
			t.Errorf("record %d: %+v", i, r)
		}
		if end := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC); !r.End.Equal(end) || !r.Start.Equal(end.Add(-10*time.Second)) || !strings.Contains(strings.Join(r.Warnings, "\n"), "time of modification") {
			t.Errorf("record %d from %v to %v, %q", i, r.Start, r.End, r.Warnings)
		}
	}
	if in.Labels[1] != "pgbench.clients=16" {
		t.Errorf("labels %q", in.Labels)
	}
}

func TestNamedArms(t *testing.T) {
	a, b := pgbenchOf(t, "8", "100"), pgbenchOf(t, "8", "110")
	in, err := Read(Source{Arms: []Arm{{"before", []string{a, b}}, {"after", []string{pgbenchOf(t, "16", "150")}}}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(in.Labels, ",") != "arm=before,arm=after" || in.Records[2].Arm != 1 || in.Records[1].Block != 2 || in.Records[2].Levels[ArmFactor] != "after" {
		t.Errorf("got %+v", in)
	}
	if d := in.Differences(); d != "pgbench.clients (8, 16)" {
		t.Errorf("the arms differ in %q", d)
	}
	_, err = Read(Source{Arms: []Arm{{"before", []string{a, pgbenchOf(t, "16", "110")}}}})
	if err == nil || !strings.Contains(err.Error(), `pgbench.clients is "8" in`) || !strings.Contains(err.Error(), "no repetitions") {
		t.Errorf("different settings in an arm: %v", err)
	}
}

func TestOneToolAtATime(t *testing.T) {
	wrk := samples + "web/testdata/wrk-4.txt"
	pgbench := samples + "database/testdata/pgbench-13.txt"
	for _, paths := range [][]string{{wrk, pgbench}, {pgbench, "testdata/fio/plus.json"}, {"testdata/fio/plus.json", pgbench}} {
		if _, err := Import(paths...); err == nil || !strings.Contains(err.Error(), "one tool at a time") {
			t.Errorf("%q: %v", paths, err)
		}
	}
	if _, err := Read(Source{Files: []string{wrk}, Format: "pgbench"}); err == nil || !strings.Contains(err.Error(), "no result of pgbench") {
		t.Errorf("wrk as pgbench: %v", err)
	}
	if _, err := Read(Source{Files: []string{wrk}, Format: "wrx"}); err == nil || !strings.Contains(err.Error(), "known: fio, ") {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestCountersBelongToResults(t *testing.T) {
	counters := samples + "counter/testdata/mpstat.json"
	in, err := Read(Source{Arms: []Arm{{"a", []string{pgbenchOf(t, "8", "100"), counters}}, {"b", []string{counters, pgbenchOf(t, "8", "110")}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range in.Records {
		if in.Records[i].Counters["sysstat.cpu.busy"] != .64 || in.Records[i].Arm != i {
			t.Errorf("record %d: %+v", i, in.Records[i])
		}
	}
	if len(in.Counters) == 0 || in.Counters[0].Name != "sysstat.cpu.busy" || len(in.Files) != 2 {
		t.Errorf("counters %+v of files %q", in.Counters, in.Files)
	}
	if _, err := Import(pgbenchOf(t, "8", "100"), pgbenchOf(t, "8", "100"), counters); err == nil || !strings.Contains(err.Error(), "1 recordings of sysstat and 2 results") {
		t.Errorf("too few recordings: %v", err)
	}
	in, err = Import(counters, counters)
	if err != nil || in.Records[1].Values["sysstat.cpu.user"] != .5 || in.Records[1].Block != 2 || in.Format != "sysstat" || len(in.Files) != 2 {
		t.Errorf("counters alone: %+v, %v", in, err)
	}
}

func TestCSVNeedsAMapping(t *testing.T) {
	path := samples + "table/testdata/runs.csv"
	if Recognised(path) {
		t.Error("CSV is recognised without a mapping")
	}
	if err := Unrecognised(path); !strings.Contains(err.Error(), "--map") {
		t.Errorf("%v", err)
	}
	column, err := table.ParseColumn("throughput=mb_per_s:MB/s")
	if err != nil {
		t.Fatal(err)
	}
	in, err := Read(Source{Files: []string{path}, Options: formats.Options{Columns: []table.Column{column}}})
	if err != nil || len(in.Records) != 3 || in.Records[2].Block != 3 || in.Metrics[0].Name != "throughput" {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := Import(file(t, "empty", "")); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := Import(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file is read")
	}
	if _, err := Import("/dev/zero"); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a device: %v", err)
	}
	failed := file(t, "iperf.json", `{"start":{"version":"iperf 3.12"},"error":"refused"}`)
	if _, err := Import(failed); err == nil || !strings.Contains(err.Error(), "no result") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a failed run: %v", err)
	}
	huge := file(t, "huge", "")
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Skip(err)
	}
	for name := range map[string]bool{"": true, "pgbench": true, "iperf3": true, "hammerdb": true} {
		if _, err := Read(Source{Files: []string{huge}, Format: name}); err == nil {
			t.Errorf("a terabyte of zeros is read as %q", name)
		}
	}
}
