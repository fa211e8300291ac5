package lab

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/report/terminal"
)

// A results folder that an older version wrote is judged, reported, compared and exported:
// with the values that it judged itself, whatever has become of the method.
func TestResultsOfAnOlderVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "older")
	if err := os.CopyFS(dir, os.DirFS("testdata/older")); err != nil {
		t.Fatal(err)
	}
	var before finding.Findings
	text, err := os.ReadFile(filepath.Join(dir, "findings.json"))
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Catalog: few(), Version: "test"}
	outcome, err := l.Judge(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := outcome.Findings
	if len(outcome.Input.Records) != 8 || len(now.Headlines) != len(before.Headlines) {
		t.Fatalf("%d records and %d headlines, want 8 and %d", len(outcome.Input.Records), len(now.Headlines), len(before.Headlines))
	}
	for i, was := range before.Headlines {
		is := now.Headlines[i]
		if is.Metric.Name != was.Metric.Name || is.Verdict != was.Verdict || math.Abs(is.Ratio-was.Ratio) > .005 {
			t.Errorf("%s: %s with %+.4f, judged before as %s with %+.4f", was.Metric.Name, is.Verdict, is.Ratio-1, was.Verdict, was.Ratio-1)
		}
	}
	if err := outcome.Write(); err != nil {
		t.Error(err)
	}
	var shown, rows bytes.Buffer
	if err := terminal.Write(&shown, outcome.Input); err != nil || !strings.Contains(shown.String(), "8 trials, 0 void, seed 7") {
		t.Errorf("%v: %s", err, shown.String())
	}
	if err := l.Export(&rows, dir, "csv"); err != nil || strings.Count(rows.String(), "\n") < 8*10 {
		t.Errorf("%v: %s", err, rows.String())
	}
	pair, err := l.ComparePair(dir, dir, nil)
	if err != nil || len(pair) != 2 {
		t.Errorf("%d comparisons, %v", len(pair), err)
	}
}
