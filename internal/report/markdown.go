package report

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/escape"
)

// Markdown writes the report for a pull request: the verdict, the table of the
// headlines, what was changed, the certificate and how to run it again.
func Markdown(w io.Writer, in Input) error {
	s := arrange(in)
	f := s.Findings
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", escapeMarkdown(f.Study), strings.ToLower(s.badge().Word))
	b.WriteString(s.markdownDataFailed())
	if f.Question != "" {
		fmt.Fprintf(&b, "> %s\n\n", escapeMarkdown(f.Question))
	}
	fmt.Fprintf(&b, "**%s**\n", escapeMarkdown(plain(s.leadSentence())))
	s.markdownTable(&b)
	s.markdownScaleOut(&b)
	for _, l := range s.limits() {
		fmt.Fprintf(&b, "\n- limit %s: %s (%s, %s)", escapeMarkdown(l.Limit), l.State, l.Value, escapeMarkdown(l.Arm))
	}
	if len(f.Limits) > 0 {
		b.WriteByte('\n')
	}
	if t := f.Tuning; t != nil {
		fmt.Fprintf(&b, "\nWhat was tried, for %s:\n\n", escapeMarkdown(t.Goal))
		for i := range t.Rounds {
			fmt.Fprintf(&b, "%d. %s\n", i+1, escapeMarkdown(s.roundText(i)))
		}
	}
	for i := range f.Explanations {
		e := &f.Explanations[i]
		fmt.Fprintf(&b, "\nWhy (%s): %s\n", e.Grade, escapeMarkdown(plain(e.Sentence)))
	}
	if r := f.Recommendation; r != nil {
		fmt.Fprintf(&b, "\nRecommendation: %s\n", escapeMarkdown(plain(r.Sentence)))
	}
	s.markdownCertificate(&b)
	if in.Command != "" {
		fmt.Fprintf(&b, "\nReproduce: `%s`", strings.ReplaceAll(escape.Line(in.Command), "`", "'"))
		if in.Version != "" {
			fmt.Fprintf(&b, " (plimsoll %s)", in.Version)
		}
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// valueOf is the mean of an arm; a dash where it has none.
func (s *sources) valueOf(metric string, arm int) string {
	sum := s.sum(metric, arm)
	if sum == nil {
		return "–"
	}
	mean, _ := s.about(sum)
	return mean
}

func (s *sources) markdownTable(b *strings.Builder) {
	if len(s.Findings.Headlines) == 0 {
		b.WriteString("\n| metric | arm | mean | interval | trials |\n|---|---|--:|---|--:|\n")
		for _, name := range s.headlines() {
			for arm := range s.arms() {
				if sum := s.sum(name, arm); sum != nil {
					mean, between := s.about(sum)
					fmt.Fprintf(b, "| %s | %s | %s | %s | %d |\n", cell(name), cell(s.brief(arm)), mean, between, sum.Trials)
				}
			}
		}
		return
	}
	b.WriteString("\n| metric | arm | baseline | value | change | interval | verdict | blocks |\n|---|---|--:|--:|--:|---|---|--:|\n")
	for i := range s.Findings.Headlines {
		c := &s.Findings.Headlines[i]
		interval := between(c)
		if c.NoInterval {
			interval = "none"
		}
		verdict := string(c.Verdict)
		if r := remark(c); r != "" {
			verdict += " (" + r + ")"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", cell(c.Metric.Name), cell(s.brief(c.Arm)),
			s.valueOf(c.Metric.Name, 0), s.valueOf(c.Metric.Name, c.Arm), changeOf(c), interval, verdict, c.Blocks)
	}
	fmt.Fprintf(b, "\nAgainst %s.\n", escapeMarkdown(s.brief(0)))
}

func (s *sources) markdownScaleOut(b *strings.Builder) {
	o := s.Findings.ScaleOut
	if o == nil {
		return
	}
	fmt.Fprintf(b, "\n| %s | %s | interval | efficiency | interval | trials |\n|--:|--:|---|--:|---|--:|\n", cell(o.Units()), cell(o.Metric.Name))
	for _, l := range s.scaleLines() {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", l.Size, cell(l.Mean), cell(l.Interval), l.Efficiency, l.Around, l.Trials)
	}
	lead := plain(s.leadSentence())
	for _, p := range s.scaleSentences() {
		if plain(p) == lead {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(plain(p)))
	}
}

func (s *sources) markdownCertificate(b *strings.Builder) {
	l := s.ledger()
	fmt.Fprintf(b, "\n<details><summary>Certificate: %d passed, %d failed, %d unknown; %s, %d void</summary>\n\n", l.Passed, l.Failed, l.Unknown, plural(s.Findings.Trials, "trial", "trials"), len(s.Findings.Void))
	b.WriteString("| state | check | what was seen |\n|---|---|---|\n")
	for _, c := range l.Checks {
		fmt.Fprintf(b, "| %s | %s | %s |\n", c.State, cell(c.Name), cell(c.Detail))
	}
	for _, v := range l.Voids {
		fmt.Fprintf(b, "\nTrial %d (%s) is void: %s\n", v.Trial, escapeMarkdown(v.Arm), escapeMarkdown(v.Cause))
	}
	b.WriteString("\n</details>\n")
}

// escapeMarkdown keeps words from being read as marks or as HTML.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "#", `\#`, "\n", " ").Replace(escape.Text(s))
}

func cell(s string) string { return strings.ReplaceAll(escapeMarkdown(s), "|", `\|`) }

func (s *sources) markdownDataFailed() string {
	b := s.dataFailed()
	if b == nil {
		return ""
	}
	return fmt.Sprintf("> **%s.** %s\n>\n> %s\n\n", b.Title, escapeMarkdown(b.Verdict), b.Note)
}
