package report_test

import (
	"bytes"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/report/markdown"
	"plimsoll/internal/report/page"
)

// A failed check of data stands before the verdict in each form of the report.
func TestLostDataLeads(t *testing.T) {
	in := fixtures()["small"].input(t)
	in.Findings.DataFailures = []finding.DataFailure{{Trial: 2, Arm: 1, Check: "consistency", Detail: "condition 4 is broken <7> times"}, {Trial: 2, Arm: 1, Check: "payments", Detail: "1 is missing"}}
	const verdict = "The system under test lost or corrupted data in 1 of 2 trials. Trial 2 (storage.threads=2), check consistency: condition 4 is broken "
	in.Width = 120
	text := textOf(t, in)
	if words := strings.Join(strings.Fields(text), " "); !strings.HasPrefix(words, "DATA CHECK FAILED: "+verdict) {
		t.Errorf("the terminal begins with %s", text[:300])
	}
	var b bytes.Buffer
	if err := markdown.Write(&b, in); err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(b.String(), "\n**")
	if !strings.Contains(first, "> **Data check failed.** The system under test lost") || !strings.HasPrefix(b.String(), "### queue-depth: data check failed") && !strings.Contains(first, ": data check failed") {
		t.Errorf("Markdown begins with %s", first)
	}
	b.Reset()
	if err := page.Write(&b, in); err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(b.String(), `<p class="lead">`)
	if !found || !strings.Contains(before, verdict+"&lt;7&gt; times") || !strings.Contains(before, "check") || strings.Contains(before, `class="hero`) || !strings.Contains(before, "Data check failed</p>") {
		t.Errorf("the page begins with %s", before[strings.Index(before, "<h1>"):])
	}
}
