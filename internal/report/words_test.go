package report_test

import (
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/figure"
)

const mostWords = 30

var (
	sentenceEnd = regexp.MustCompile(`[.;:] `)
	bracketed   = regexp.MustCompile(`\([^)]*\)`)
)

// tooLong are the sentences of a text that have more words than a reader takes in at once.
// What stands in brackets does not count, and a semicolon or colon ends a statement.
func tooLong(text string) (all []string) {
	for _, s := range sentenceEnd.Split(bracketed.ReplaceAllString(text, ""), -1) {
		if len(strings.Fields(s)) > mostWords {
			all = append(all, s)
		}
	}
	return all
}

func TestNoSentenceOfAReportIsLong(t *testing.T) {
	check := func(where, text string) {
		for _, s := range tooLong(text) {
			t.Errorf("%s: a sentence of %d words: %s", where, len(strings.Fields(s)), s)
		}
	}
	for name := range fixtures() {
		s := report.New(rendered(t, name))
		f := s.Findings
		check(name, report.Plain(content.LeadSentence(s)))
		for _, p := range content.BesideSentences(s) {
			check(name, report.Plain(p))
		}
		for _, p := range content.Method(s) {
			check(name, report.Plain(p))
		}
		for _, e := range f.Explanations {
			check(name, e.Sentence.Text)
		}
		for _, c := range f.Certificate {
			check(name, c.Detail)
		}
	}
	for _, f := range figure.All() {
		check(f.Name, f.Doc)
	}
	if len(tooLong(strings.Repeat("word ", mostWords+1))) == 0 {
		t.Error("the test passes over a long sentence")
	}
}

// The report says how operations were paced, also where settings of the workload say it.
func TestMethodSaysThePace(t *testing.T) {
	for want, settings := range map[string]parameter.Settings{
		"the next operation starts when one ends":           nil,
		"the next operation starts 50 ms after one ends":    {"think": "50ms"},
		"latency counts from when an operation should have": {"rate": "40/s"},
	} {
		in := rendered(t, "decided")
		of := *in.Study
		of.Workload.Settings = settings
		in.Study = &of
		var text strings.Builder
		for _, s := range content.Method(report.New(in)) {
			text.WriteString(report.Plain(s))
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("%v: %s; want %s", settings, text.String(), want)
		}
	}
}
