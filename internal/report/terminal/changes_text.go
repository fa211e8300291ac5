package terminal

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/column"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// Compare writes comparisons for a terminal: before, after, change and verdict of each metric.
func Compare(w io.Writer, all []content.Compared) error {
	t := &terminal{}
	for i := range all {
		c := &all[i]
		s, fit := report.New(c.Input), newTerminal(c.Input)
		t.width, t.colour = fit.width, fit.colour
		if i > 0 {
			t.b.WriteByte('\n')
		}
		t.wrap("before: ", "  ", c.Sides[0].Text())
		t.wrap("after:  ", "  ", c.Sides[1].Text())
		t.b.WriteByte('\n')
		t.wrap(mark(content.VerdictOf(s))+" ", "  ", report.Plain(content.LeadSentence(s)))
		if text := content.Caution(s); text != "" {
			t.wrap("Caution: ", "  ", text)
		}
		t.b.WriteByte('\n')
		t.changes(content.Changes(s))
	}
	t.b.WriteByte('\n')
	t.wrap("", "", content.NotRandomised)
	return t.write(w, "comparison")
}

// Changes writes a table of before, after and change for the arms of a study.
func Changes(w io.Writer, in report.Input) error {
	s, t := report.New(in), newTerminal(in)
	all := content.HeadlineChanges(s)
	if len(all) == 0 {
		return nil
	}
	t.b.WriteByte('\n')
	t.wrap("", "  ", "before: "+s.Brief(0))
	t.changes(all)
	return t.write(w, "comparison")
}

// mostChanges bounds the metrics shown. Headlines come first.
const mostChanges = 24

// changes writes the table of values.
func (t *terminal) changes(all []content.Change) {
	rows := [][]string{{"metric", "before", "after", "change", "interval", "verdict"}}
	arms := false
	for i := range all {
		arms = arms || all[i].Arm != ""
	}
	for i := range all[:min(len(all), mostChanges)] {
		c := &all[i]
		name := c.Metric
		if arms {
			name += ", " + c.Arm
		}
		rows = append(rows, []string{name, c.BeforeText, c.AfterText, c.ChangeText, c.Interval, c.VerdictText()})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for k, text := range r {
			widths[k] = max(widths[k], column.Width(text))
		}
	}
	// If the table is too wide, the column of intervals is left out; --json and --markdown
	// have it.
	total := 2 * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	for _, r := range rows {
		var line strings.Builder
		for k, text := range r {
			if k == 4 && total > t.width {
				continue
			}
			pad := strings.Repeat(" ", widths[k]-column.Width(text))
			if k >= 1 && k <= 3 {
				line.WriteString(pad + text + "  ")
			} else {
				line.WriteString(text + pad + "  ")
			}
		}
		t.b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if n := len(all) - mostChanges; n > 0 {
		fmt.Fprintf(&t.b, "and %s; --json has all\n", report.Plural(n, "more metric", "more metrics"))
	}
}
