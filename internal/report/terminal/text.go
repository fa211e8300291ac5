// Package terminal writes a report as plain text, at the end of a run.
package terminal

import (
	"fmt"
	"io"
	"math"
	"strings"

	"plimsoll/internal/column"
	"plimsoll/internal/escape"
	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
)

const (
	// UsualWidth is the width of a terminal of unknown width.
	UsualWidth = 80
	stripWidth = 25 // characters of the drawn interval, if there is space
)

// Write writes the summary at the end of a run: the verdict, a line per headline, changes,
// explanations, and the certificate. It keeps to Input.Width columns unless names are too
// long.
func Write(w io.Writer, in report.Input) error {
	s, t := report.New(in), newTerminal(in)
	t.dataFailed(s)
	t.head(s)
	if c := content.Caution(s); c != "" {
		t.wrap("Caution: ", "  ", c)
	}
	t.values(s)
	t.headlines(s)
	t.topologies(s)
	t.scaleOut(s)
	t.limits(s)
	t.faults(s)
	t.paths(s)
	t.story(s)
	t.reasons(s)
	t.accounts(s)
	t.certificate(s)
	return t.write(w, "report")
}

// terminal is text being written.
type terminal struct {
	b      strings.Builder
	width  int
	colour bool
}

func newTerminal(in report.Input) *terminal {
	t := &terminal{width: UsualWidth, colour: in.Colour}
	if in.Width > 0 {
		t.width = min(max(in.Width, 40), 120)
	}
	return t
}

func (t *terminal) write(w io.Writer, what string) error {
	if _, err := io.WriteString(w, t.b.String()); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// paint colours a text by a decided verdict.
func (t *terminal) paint(class, s string) string {
	code := map[string]string{"better": "32", "worse": "31", "equivalent": "34", "strong": "1", "faint": "2"}[class]
	if !t.colour || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// wrap writes text in lines of the terminal's width, after an indent.
func (t *terminal) wrap(first, rest, s string) {
	line, start := first, true
	for _, word := range strings.Fields(escape.Text(s)) {
		if !start && column.Width(line)+1+column.Width(word) > t.width {
			t.b.WriteString(line + "\n")
			line, start = rest, true
		}
		if !start {
			line += " "
		}
		line += word
		start = false
	}
	t.b.WriteString(line + "\n")
}

// mark is a verdict in one character.
func mark(v finding.Verdict) string {
	switch v {
	case finding.Better:
		return "●"
	case finding.Worse:
		return "■"
	case finding.Equivalent:
		return "◆"
	case finding.Different, finding.Changed:
		return "◐"
	}
	return "○"
}

func (t *terminal) head(s *report.Sources) {
	f := s.Findings
	title := f.Study
	if f.Question != "" {
		title += ": " + f.Question
	}
	t.wrap("", "", title)
	t.b.WriteByte('\n')
	sign, before := "", t.b.Len()
	switch c := content.First(s); {
	case f.Tuning != nil && content.Kept(f.Tuning) > 0:
		sign = mark(finding.Better)
	case f.Tuning != nil:
		sign = mark(finding.NotEnoughRuns)
	case c != nil:
		sign = mark(c.Verdict)
	default:
		t.wrap("", "", report.Plain(content.LeadSentence(s)))
		return
	}
	t.wrap(sign+" ", "  ", report.Plain(content.LeadSentence(s)))
	if t.colour {
		text := t.b.String()
		t.b.Reset()
		t.b.WriteString(text[:before] + t.paint(content.BadgeOf(s).Class, sign) + text[before+len(sign):])
	}
}

// row is a line of the table of headlines.
type textRow struct {
	cells [5]string
	class string
	strip string
}

// values writes the results of each arm: its headlines and, of a single arm, the usual
// latencies. Those in a table of sizes are left out.
func (t *terminal) values(s *report.Sources) {
	var rows []textRow
	for _, name := range content.ShownMetrics(s) {
		if o := s.Findings.ScaleOut; o != nil && o.Metric.Name == name {
			continue
		}
		for arm := range min(s.Arms(), content.MostRows) {
			if sum := s.Summary(name, arm); sum != nil {
				mean, between := s.About(sum)
				rows = append(rows, textRow{cells: [5]string{"  " + name, s.Brief(arm), mean, between, report.Plural(sum.Trials, "trial", "trials")}})
			}
		}
	}
	t.table(rows)
}

func (t *terminal) headlines(s *report.Sources) {
	var rows []textRow
	shown := min(len(s.Findings.Headlines), content.MostRows)
	low, high := textRange(s, shown)
	for i := range shown {
		c := &s.Findings.Headlines[i]
		interval := content.Between(c)
		if c.NoInterval {
			interval = "no interval"
		}
		rows = append(rows, textRow{
			cells: [5]string{mark(c.Verdict) + " " + c.Metric.Name, s.Brief(c.Arm), content.ChangeOf(c), interval, string(c.Verdict)},
			class: chart.VerdictLook(string(c.Verdict))[0], strip: strip(c, s.Findings.Margin, low, high),
		})
	}
	t.table(rows)
	if more := len(s.Findings.Headlines) - shown; more > 0 {
		fmt.Fprintf(&t.b, "  and %s more\n", quantity.Count(more))
	}
}

// scaleOut writes a line for each size, and the conclusion.
func (t *terminal) scaleOut(s *report.Sources) {
	o := s.Findings.ScaleOut
	if o == nil {
		return
	}
	var rows []textRow
	lines := content.ScaleLines(s)
	for _, l := range lines[:min(len(lines), content.MostRows)] {
		rows = append(rows, textRow{cells: [5]string{"  " + o.Units(), l.Size, l.Mean, l.Interval, "efficiency " + l.Efficiency}})
	}
	t.table(rows)
	lead, gap := report.Plain(content.LeadSentence(s)), "\n"
	for _, p := range content.ScaleSentences(s) {
		if text := report.Plain(p); text != lead {
			t.b.WriteString(gap)
			t.wrap("", "  ", text)
			gap = ""
		}
	}
}

// table aligns rows: numbers right, the rest left.
func (t *terminal) table(rows []textRow) {
	if len(rows) == 0 {
		return
	}
	t.b.WriteByte('\n')
	t.lines(rows)
}

func (t *terminal) lines(rows []textRow) {
	var widths [5]int
	for k := range rows {
		for i, c := range rows[k].cells {
			c = escape.Line(c)
			rows[k].cells[i] = c
			widths[i] = max(widths[i], column.Width(c))
		}
	}
	total := 8
	for _, w := range widths {
		total += w
	}
	drawn := total+2+stripWidth <= t.width
	for _, r := range rows {
		line := ""
		for i, c := range r.cells {
			pad := strings.Repeat(" ", widths[i]-column.Width(c))
			if i > 0 {
				line += "  "
			}
			switch i {
			case 2:
				line += pad + t.paint(r.class, c)
			case 4:
				line += t.paint(r.class, c) + pad
			default:
				line += c + pad
			}
		}
		if drawn && r.strip != "" {
			line += "  " + r.strip
		}
		t.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// textRange is the range of all drawn intervals, on a log scale.
func textRange(s *report.Sources, shown int) (low, high float64) {
	margin := math.Log1p(s.Findings.Margin)
	low, high = -1.5*margin, 1.5*margin
	for _, c := range s.Findings.Headlines[:shown] {
		for _, v := range []float64{c.Low, c.High, c.Ratio} {
			if v > 0 && !math.IsInf(v, 0) {
				low, high = min(low, math.Log(v)), max(high, math.Log(v))
			}
		}
	}
	return max(low, -3), min(high, 3)
}

// strip draws an interval in characters: the margin dotted, 0 as a bar.
func strip(c *finding.Comparison, margin, low, high float64) string {
	if high <= low || !(c.Ratio > 0) || c.NoRatio || !content.Measured(c) {
		return ""
	}
	at := func(v float64) int {
		p := int(math.Round((v - low) / (high - low) * (stripWidth - 1)))
		return min(max(p, 0), stripWidth-1)
	}
	line := []rune(strings.Repeat(" ", stripWidth))
	for i := at(-math.Log1p(margin)); i <= at(math.Log1p(margin)); i++ {
		line[i] = '·'
	}
	line[at(0)] = '│'
	if !c.NoInterval && c.Low > 0 && !math.IsInf(c.High, 0) {
		for i := at(math.Log(c.Low)); i <= at(math.Log(c.High)); i++ {
			line[i] = '─'
		}
	}
	line[at(math.Log(c.Ratio))] = []rune(mark(c.Verdict))[0]
	return string(line)
}

func (t *terminal) limits(s *report.Sources) {
	if len(s.Findings.Limits) > 0 {
		t.b.WriteByte('\n')
	}
	for _, l := range content.Limits(s) {
		t.wrap("  ", "    ", fmt.Sprintf("limit %s: %s, %s with %s", l.State, l.Limit, l.Value, l.Arm))
	}
}

func (t *terminal) faults(s *report.Sources) {
	lines := content.Faults(s)
	if len(lines) > 0 {
		t.b.WriteString("\nFailed operations:\n")
	}
	for _, l := range lines {
		t.wrap("  ", "    ", l)
	}
}

func (t *terminal) story(s *report.Sources) {
	if s.Findings.Tuning == nil || len(s.Findings.Tuning.Rounds) == 0 {
		return
	}
	t.b.WriteString("\nTuning rounds, to " + escape.Line(s.Findings.Tuning.Aim()) + ":\n")
	for i := range s.Findings.Tuning.Rounds {
		t.wrap(fmt.Sprintf("  %d ", i+1), "    ", content.RoundText(s, i))
	}
	for _, line := range content.TuningLog(s.Findings.Tuning) {
		t.wrap("  ", "    ", line)
	}
}

func (t *terminal) reasons(s *report.Sources) {
	f := s.Findings
	if besides := content.BesidePeaks(s); len(besides) > 0 {
		t.b.WriteByte('\n')
		for _, p := range besides {
			t.wrap("", "  ", report.Plain(p))
		}
	}
	untested := f.Untested.Lines()
	if len(f.Explanations) > 0 || len(untested) > 0 || f.Recommendation != nil {
		t.b.WriteByte('\n')
	}
	for i := range f.Explanations {
		e := &f.Explanations[i]
		t.wrap("Why ("+string(e.Grade)+"): ", "  ", report.Plain(e.Sentence))
		if e.Advice != "" {
			t.wrap("  Change: ", "    ", escape.Line(e.Advice))
		}
	}
	indent := ""
	for _, line := range untested {
		t.wrap(indent, indent+"  ", escape.Line(line)+".")
		indent = "  "
	}
	if r := f.Recommendation; r != nil {
		t.wrap("Next: ", "  ", report.Plain(r.Sentence))
	}
}

func inParentheses(names string) string {
	if names == "" {
		return ""
	}
	return " (" + names + ")"
}

func (t *terminal) certificate(s *report.Sources) {
	l := content.CertificateOf(s)
	text := fmt.Sprintf("%d passed, %d failed", l.Passed, l.Failed) + inParentheses(l.Failing())
	text += fmt.Sprintf(", %d unknown", l.Unknown) + inParentheses(l.Unjudged())
	text += fmt.Sprintf(". %s, %d void, seed %d.", report.Plural(s.Findings.Trials, "trial", "trials"), len(s.Findings.Void), s.Findings.Seed)
	t.b.WriteByte('\n')
	t.wrap("Certificate: ", "  ", text)
	for i, v := range l.Voids {
		if i == 3 {
			fmt.Fprintf(&t.b, "  and %s more void\n", quantity.Count(len(s.Findings.Void)-3))
			break
		}
		t.wrap("  ", "    ", fmt.Sprintf("trial %d is void: %s", v.Trial, v.Cause))
	}
}

func (t *terminal) dataFailed(s *report.Sources) {
	if b := content.DataFailed(s); b != nil {
		t.wrap(t.paint("worse", "DATA CHECK FAILED: "), "  ", b.Verdict)
		t.wrap("", "", b.Note)
		t.b.WriteByte('\n')
	}
}
