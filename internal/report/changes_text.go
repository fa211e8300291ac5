package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// CompareText writes comparisons for a terminal: both values of each metric, the
// change and the verdict.
func CompareText(w io.Writer, all []Compared) error {
	t := &terminal{}
	for i := range all {
		c := &all[i]
		s := arrange(c.Input)
		width := c.Input.Width
		if width <= 0 {
			width = usualWidth
		}
		t.width, t.colour = min(max(width, 40), 120), c.Input.Colour
		if i > 0 {
			t.b.WriteByte('\n')
		}
		t.wrap("before: ", "  ", c.Sides[0].text())
		t.wrap("after:  ", "  ", c.Sides[1].text())
		t.b.WriteByte('\n')
		t.wrap(mark(verdictOf(s))+" ", "  ", plain(s.leadSentence()))
		if text := s.caution(); text != "" {
			t.wrap("Caution: ", "  ", text)
		}
		t.b.WriteByte('\n')
		t.changes(s.changes())
	}
	t.b.WriteByte('\n')
	t.wrap("", "", notRandomised)
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// ChangesText writes the table of both values of the arms of a study.
func ChangesText(w io.Writer, in Input) error {
	t := &terminal{width: usualWidth}
	if in.Width > 0 {
		t.width = min(max(in.Width, 40), 120)
	}
	s := arrange(in)
	all := s.headlineChanges()
	if len(all) == 0 {
		return nil
	}
	t.b.WriteByte('\n')
	t.wrap("", "  ", "before: "+s.brief(0))
	t.changes(all)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// mostChanges bounds the metrics that people are shown. Headlines come first.
const mostChanges = 24

// changes writes the table of both values.
func (t *terminal) changes(all []Change) {
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
		rows = append(rows, []string{name, c.before, c.after, c.change, c.interval, c.verdict()})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for k, text := range r {
			widths[k] = max(widths[k], utf8.RuneCountInString(text))
		}
	}
	// Where the table is too wide the interval goes, which --json and --markdown keep.
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
			pad := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text))
			if k >= 1 && k <= 3 {
				line.WriteString(pad + text + "  ")
			} else {
				line.WriteString(text + pad + "  ")
			}
		}
		t.b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	if n := len(all) - mostChanges; n > 0 {
		fmt.Fprintf(&t.b, "and %s; --json has all\n", plural(n, "more metric", "more metrics"))
	}
}
