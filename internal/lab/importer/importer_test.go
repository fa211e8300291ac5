package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/history"
	"plimsoll/internal/lab"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/imported"
	"plimsoll/internal/study"
)

const samples = "../../measure/foreign/"

func theLab() *lab.Lab { return &lab.Lab{Catalog: &study.Catalog{}, Version: "test"} }

// side writes the reports of n runs of pgbench.
func side(t *testing.T, name string, tps ...float64) imported.Arm {
	t.Helper()
	a := imported.Arm{Name: name}
	dir := t.TempDir()
	for i, v := range tps {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d.txt", name, i))
		text := fmt.Sprintf("pgbench (15.4)\ntransaction type: x\nnumber of clients: 8\nduration: 10 s\nnumber of transactions actually processed: %d\nlatency average = %.3f ms\ntps = %.6f (without initial connection time)\n", int(v*10), 8e3/v, v)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		a.Files = append(a.Files, path)
	}
	return a
}

func TestResultsBecomeAFolder(t *testing.T) {
	l, dir := theLab(), filepath.Join(t.TempDir(), "new", "move")
	before, after := side(t, "before", 1000, 1003, 998, 1001, 999, 1002), side(t, "after", 1100, 1104, 1097, 1102, 1099, 1103)
	done, err := Import(l, Request{Dir: dir, Source: imported.Source{Arms: []imported.Arm{before, after}}})
	if err != nil {
		t.Fatal(err)
	}
	f := done.Results
	if f.Arms[0].Label != "arm=before" || f.Arms[1].Trials != 6 || f.Tools[0] != "pgbench 15.4" || f.Headline[0] != "transactions" || !strings.Contains(f.Answer, "not randomised") || f.Absent == "" {
		t.Errorf("%+v", f)
	}
	outcome, err := l.Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
	h := outcome.Findings.Headlines[0]
	if h.Verdict != finding.Better || !h.NotRandomised || h.Blocks != 6 || h.Ratio < 1.095 || h.Ratio > 1.105 {
		t.Errorf("headline %+v", h)
	}
	for _, c := range outcome.Findings.Audit {
		if !c.Holds {
			t.Errorf("the audit refutes %q: %s", c.Sentence, c.Fault)
		}
	}
	if c := outcome.Findings.Certificate; !certified(c, "imported", measure.Unknown) || !certified(c, "order randomised", measure.Fail) {
		t.Errorf("certificate %+v", c)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "imported from files of another tool") || strings.Contains(string(page), "drawn from seed") {
		t.Errorf("the report does not say that its results are imported: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".import-*"))
	if err != nil || left != nil {
		t.Errorf("left %q, %v", left, err)
	}
	runs, err := history.New("").Runs(t.Context(), filepath.Dir(dir))
	if err != nil || len(runs) != 1 || runs[0].State != history.Finished || runs[0].Trials != 12 {
		t.Errorf("runs %+v, %v", runs, err)
	}
	var exported strings.Builder
	if err := l.Export(&exported, dir, "csv"); err != nil || strings.Count(exported.String(), "transactions") < 12 {
		t.Errorf("export: %v\n%.300s", err, exported.String())
	}
	if _, err := Import(l, Request{Dir: dir, Source: imported.Source{Arms: []imported.Arm{before}}}); err == nil || !strings.Contains(err.Error(), "not empty") || !lab.IsMistake(err) {
		t.Errorf("a second import into the folder: %v", err)
	}
	if _, err := l.Resume(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "nothing to resume") {
		t.Errorf("resume: %v", err)
	}
	alone := before.Files[0]
	compared, err := l.ComparePair(dir, alone, []string{"arm=before", "baseline"})
	if err != nil || len(compared) != 1 {
		t.Errorf("compare with a file: %+v, %v", compared, err)
	}
}

func certified(all []measure.Check, name string, state measure.State) bool {
	for _, c := range all {
		if c.Name == name {
			return c.State == state
		}
	}
	return false
}

func TestFewRunsGiveNoVerdict(t *testing.T) {
	l, dir := theLab(), filepath.Join(t.TempDir(), "few")
	done, err := Import(l, Request{Dir: dir, Source: imported.Source{Arms: []imported.Arm{side(t, "before", 1000), side(t, "after", 2000)}}})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Judge(dir)
	if err != nil || outcome.Findings.Headlines[0].Verdict != finding.NotEnoughRuns {
		t.Errorf("%s: %+v, %v", done.Results.Answer, outcome.Findings.Headlines, err)
	}
}

func TestArmsBySettings(t *testing.T) {
	l, dir := theLab(), t.TempDir() // an empty folder may be there
	done, err := Import(l, Request{Dir: dir, Headline: []string{"sent"}, Source: imported.Source{Files: []string{samples + "network/testdata/iperf3-3.9.json", samples + "network/testdata/iperf3-3.16-bidir.json"}}})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := l.Judge(dir)
	if err != nil || len(done.Results.Arms) != 2 || done.Results.Headline[0] != "sent" {
		t.Fatalf("%+v, %v", done.Results, err)
	}
	if a := outcome.Findings.Arms[1]; a.Levels["iperf3.streams"] != "1" || a.Levels["iperf3.direction"] != "both" {
		t.Errorf("arm %+v", a)
	}
	caution := ""
	for _, line := range outcome.Input.Testbed {
		if line.Name == lab.CautionFact {
			caution = line.Value
		}
	}
	if !strings.Contains(caution, "different versions: iperf3 3.9, iperf3 3.16") {
		t.Errorf("caution %q", caution)
	}
}

func TestHistogramsAreKept(t *testing.T) {
	l, dir := theLab(), filepath.Join(t.TempDir(), "memtier")
	if _, err := Import(l, Request{Dir: dir, Source: imported.Source{Files: []string{samples + "keyvalue/testdata/memtier-1.4.json"}}}); err != nil {
		t.Fatal(err)
	}
	r, err := lab.ReadRecorded(l.Catalog, dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Results.Histograms(&r.Records[0])
	if err != nil || all[""].Count() != 71924614 || all["set"].Count() != 7192475 {
		t.Errorf("histograms %+v, %v", all, err)
	}
}

// What every format reads becomes a folder that can be judged.
func TestEverySample(t *testing.T) {
	l := theLab()
	files, err := filepath.Glob(samples + "*/testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files, "../../measure/imported/testdata/fio/plus.json") {
		if !imported.Recognised(path) || strings.HasSuffix(path, "refused.json") || filepath.Base(path) == "fuzz" {
			continue
		}
		dir := filepath.Join(t.TempDir(), filepath.Base(path))
		source := imported.Source{Files: []string{path}}
		if filepath.Ext(path) == ".hlog" { // which does not say it
			source.Unit = time.Microsecond
		}
		done, err := Import(l, Request{Dir: dir, Source: source})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		outcome, err := l.Judge(dir)
		if err != nil || done.Results.Answer == "" || len(outcome.Findings.Summaries) == 0 {
			t.Errorf("%s: %+v, %v", path, done.Results, err)
			continue
		}
		for _, c := range outcome.Findings.Audit {
			if !c.Holds {
				t.Errorf("%s: the audit refutes %q: %s", path, c.Sentence, c.Fault)
			}
		}
	}
}

// A pipe without a writer is refused rather than waited for.
func TestPipes(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"pipe", "pipe.icf", "pipe.json"} {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		for _, source := range []imported.Source{{Files: []string{path}}, {Files: []string{path}, Format: "pgbench"}, {Arms: []imported.Arm{{Name: "a", Files: []string{path}}}}} {
			if _, err := Import(theLab(), Request{Source: source, Dir: filepath.Join(dir, "out")}); err == nil || !strings.Contains(err.Error(), "regular file") {
				t.Errorf("%+v: %v", source, err)
			}
		}
	}
}

func TestNothingIsWrittenOnErrors(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "out")
	bad := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(bad, []byte("transaction type: x\ntps = 1,5 (without initial connection time)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := side(t, "good", 10).Files[0]
	for _, request := range []Request{
		{Source: imported.Source{Files: []string{good, bad}}}, {Source: imported.Source{Files: []string{good}}, Headline: []string{"iops"}}, {Source: imported.Source{Files: []string{good}, Format: "none"}},
	} {
		request.Dir = dir
		if _, err := Import(theLab(), request); err == nil || !lab.IsMistake(err) {
			t.Errorf("%+v: %v", request, err)
		}
	}
	if left, err := os.ReadDir(above); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := Import(theLab(), Request{Source: imported.Source{Files: []string{good}}}); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("without a folder: %v", err)
	}
}
