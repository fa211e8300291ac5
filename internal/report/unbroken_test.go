package report_test

import (
	"strings"
	"testing"

	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/page"
)

func TestNumbersKeepTheirUnits(t *testing.T) {
	for in, want := range map[string]string{
		"<p>rises by +97.5 % and 3 ms.</p>":            "<p>rises by +97.5\u00a0% and 3\u00a0ms.</p>",
		"<td>2 GiB/s, 4 sizes, 1 second</td>":          "<td>2\u00a0GiB/s, 4 sizes, 1 second</td>",
		`<a title="5 %">5 %</a><pre>margin: 5 %</pre>`: `<a title="5 %">5` + "\u00a0" + `%</a><pre>margin: 5 %</pre>`,
	} {
		if got := string(page.Unbroken([]byte(in))); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// What a scale-out and a search for a peak found stands on top: once, and with values.
func TestAnswerStandsOnTop(t *testing.T) {
	for name, want := range map[string][]string{
		"scale":   {"Grows up to the largest size, 10 threads", `<th scope="row">threads=10</th>`, `data-id="scale:10/mean"`},
		"decided": {`data-id="iops@0/mean"`, `data-id="iops@1/mean"`, `<th scope="row">threads=2</th>`},
	} {
		text, _, _ := strings.Cut(pages[name](), "<nav")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the top of the page lacks %s", name, w)
			}
		}
		lead := page.AsHTML(content.LeadSentence(report.New(rendered(t, name))))
		if n := strings.Count(text, strings.TrimSuffix(string(lead), ".")); n > 1 {
			t.Errorf("%s: the first sentence stands %d times", name, n)
		}
	}
}
