package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"plimsoll/internal/finding"
)

// Compared is a comparison of two runs, or of one arm of both.
type Compared struct {
	Input Input
	Arm   string  // that both sides have; empty where each has one
	Sides [2]Side // before and after
}

// Side is one side of a comparison.
type Side struct {
	Name   string `json:"name"`
	Arm    string `json:"arm,omitempty"`
	Trials int    `json:"trials"` // that count
	Void   int    `json:"void"`
}

// Change is a metric of a comparison with both values, as a program reads it.
type Change struct {
	Metric      string          `json:"metric"`
	Unit        string          `json:"unit"`
	Better      string          `json:"better"`
	Arm         string          `json:"arm,omitempty"` // of a study, against its first arm
	Before      float64         `json:"before"`
	After       float64         `json:"after"`
	Ratio       float64         `json:"ratio,omitempty"`
	Low         float64         `json:"low,omitempty"`
	High        float64         `json:"high,omitempty"`
	Level       float64         `json:"level,omitempty"` // of the interval
	Verdict     finding.Verdict `json:"verdict"`
	Exploratory bool            `json:"exploratory,omitempty"`

	before, after, change, interval string
}

// Changes lists the metrics that both sides have, with both values: headlines first.
func Changes(in Input) []Change { return arrange(in).changes() }

func (s *sources) changes() []Change {
	var all []Change
	for k, list := range [][]finding.Comparison{s.Findings.Headlines, s.Findings.Exploratory} {
		for i := range list {
			c := &list[i]
			before, after := s.sums[place{c.Metric.Name, 0}], s.sums[place{c.Metric.Name, c.Arm}]
			if before == nil || after == nil {
				continue
			}
			one := Change{
				Metric: c.Metric.Name, Unit: c.Metric.Unit, Better: string(c.Metric.Better), Before: before.Mean, After: after.Mean,
				Ratio: c.Ratio, Verdict: c.Verdict, Exploratory: k == 1,
				before: amount(before.Mean, 0, c.Metric.Unit), after: amount(after.Mean, 0, c.Metric.Unit), change: changeOf(c), interval: "no interval",
			}
			if c.NoInterval && one.Before != one.After && (one.Before <= 0 || one.After <= 0) {
				one.Ratio, one.change = 0, "no ratio" // a change from or to 0 has none
			}
			if s.arms() > 2 {
				one.Arm = s.brief(c.Arm)
			}
			if !c.NoInterval && c.Low > 0 {
				one.Low, one.High, one.Level, one.interval = c.Low, c.High, s.Findings.Level, between(c)
			}
			all = append(all, one)
		}
	}
	return all
}

// verdict is what stands in the last column.
func (c *Change) verdict() string {
	if c.Exploratory {
		return "exploratory"
	}
	return string(c.Verdict)
}

// mostChanges bounds the metrics that people are shown. Headlines come first.
const mostChanges = 24

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

const notRandomised = "The runs were not interleaved in random order: whatever else changed between them is part of the difference, and nothing is verified."

func verdictOf(s *sources) finding.Verdict {
	if c := s.first(); c != nil {
		return c.Verdict
	}
	return finding.NotEnoughRuns
}

func (d *Side) text() string {
	text := d.Name
	if d.Arm != "" {
		text += ", " + d.Arm
	}
	text += " (" + plural(d.Trials, "trial", "trials")
	if d.Void > 0 {
		text += fmt.Sprintf(", %d void", d.Void)
	}
	return text + ")"
}

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

// headlineChanges are the changes of the headlines, each with its arm.
func (s *sources) headlineChanges() []Change {
	var all []Change
	for _, c := range s.changes() {
		if !c.Exploratory {
			all = append(all, c)
		}
	}
	return all
}

// CompareMarkdown writes comparisons for a pull request.
func CompareMarkdown(w io.Writer, all []Compared) error {
	var b strings.Builder
	for i := range all {
		c := &all[i]
		s := arrange(c.Input)
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "**%s**\n\nBefore: %s. After: %s.\n", escapeMarkdown(plain(s.leadSentence())), escapeMarkdown(c.Sides[0].text()), escapeMarkdown(c.Sides[1].text()))
		if text := s.caution(); text != "" {
			fmt.Fprintf(&b, "\nCaution: %s\n", escapeMarkdown(text))
		}
		markdownChanges(&b, s.changes())
	}
	fmt.Fprintf(&b, "\n%s\n", notRandomised)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func markdownChanges(b *strings.Builder, all []Change) {
	b.WriteString("\n| metric | before | after | change | interval | verdict |\n|---|--:|--:|--:|---|---|\n")
	for i := range all {
		c := &all[i]
		name := c.Metric
		if c.Arm != "" {
			name += ", " + c.Arm
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", cell(name), cell(c.before), cell(c.after), c.change, c.interval, c.verdict())
	}
}

// ChangesMarkdown writes the table of both values of the arms of a study.
func ChangesMarkdown(w io.Writer, in Input) error {
	s := arrange(in)
	all := s.headlineChanges()
	if len(all) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nBefore: %s.\n", escapeMarkdown(s.brief(0)))
	markdownChanges(&b, all)
	_, err := io.WriteString(w, b.String())
	return err
}
