package report_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/figure"
	"plimsoll/internal/report/page"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is right: go test ./internal/report -update\ngot:\n%s", path, got)
	}
}

// Each figure has a golden CSV, and a golden SVG where it is drawn, of the smallest
// fixture that shows it.
func TestFigures(t *testing.T) {
	shows := map[string]string{
		"forest": "decided", "tuning": "decided", "published": "decided", "load-latency": "sweep", "rate-latency": "peak", "scale-out": "scale", "tiles": "tiles", "machines": "guests", "path": "cluster", "faults": "void", "counters": "decided", "other-metrics": "decided",
		"metrics": "single", "sight": "sighted", "noise": "decided", "trials": "decided", "throughput": "decided", "runs": "decided", "series": "small", "percentiles": "small", "waterfall": "cycles", "moved": "cycles", "timeline": "hosted", "cpus": "hosted",
	}
	arranged := map[string]*report.Sources{}
	for _, f := range figure.All() {
		name, ok := shows[f.Name]
		if !ok {
			t.Errorf("figure %s has no golden file: name a fixture that shows it", f.Name)
			continue
		}
		if arranged[name] == nil {
			arranged[name] = report.New(rendered(t, name))
		}
		table, ok := f.Table(arranged[name])
		if !ok {
			t.Errorf("fixture %s does not show figure %s", name, f.Name)
			continue
		}
		golden(t, f.Name+".csv", table.CSV())
		if f.Draw != nil {
			golden(t, f.Name+".svg", []byte(f.Draw(table, page.WideFigure)))
		}
	}
}

func TestTextAndMarkdown(t *testing.T) {
	for _, name := range report.SortedKeys(fixtures()) {
		in := rendered(t, name)
		for ending, write := range writers() {
			if ending == ".html" {
				continue
			}
			var b bytes.Buffer
			if err := write(&b, in); err != nil {
				t.Fatal(err)
			}
			golden(t, name+ending, b.Bytes())
		}
	}
}

// What the terminal and the page write of a sentence is what findings.json holds, but
// for the sign and the unit that ASCII lacks.
func TestNumbersAreRoundedAlikeEverywhere(t *testing.T) {
	ascii := strings.NewReplacer("−", "-", "µs", "us")
	for _, name := range report.SortedKeys(fixtures()) {
		s := report.New(rendered(t, name))
		for _, c := range slices.Concat(s.Findings.Headlines, s.Findings.Exploratory) {
			if got := ascii.Replace(report.Plain(c.Sentence)); got != c.Sentence.Text {
				t.Errorf("%s: shown as\n%s\nand stored as\n%s", name, got, c.Sentence.Text)
			}
		}
		if got := ascii.Replace(report.Plain(s.Findings.Sentence)); got != s.Findings.Sentence.Text {
			t.Errorf("%s: shown as\n%s\nand stored as\n%s", name, got, s.Findings.Sentence.Text)
		}
	}
}

// After a tuning the answer of its last study is that of a headline: it stands there once.
func TestNothingIsSaidTwiceBesideTheAnswer(t *testing.T) {
	for _, name := range report.SortedKeys(fixtures()) {
		in := rendered(t, name)
		if f := in.Findings; f.Tuning != nil && len(f.Headlines) > 0 {
			f.Sentence = f.Headlines[0].Sentence
		}
		s := report.New(in)
		seen := map[string]bool{report.Plain(content.LeadSentence(s)): true}
		for _, p := range content.BesideSentences(s) {
			if seen[report.Plain(p)] {
				t.Errorf("%s: said twice: %s", name, report.Plain(p))
			}
			seen[report.Plain(p)] = true
		}
	}
}

func TestTheBadgeOfAStudyWithoutAValidTrial(t *testing.T) {
	for void, want := range map[int]string{4: "No valid trial", 3: "Measured"} {
		s := report.New(report.Input{Findings: &finding.Findings{Trials: 4, Void: make([]finding.Void, void)}})
		if got := content.BadgeOf(s).Word; got != want {
			t.Errorf("%d of 4 trials void: badge %q, want %q", void, got, want)
		}
	}
}
