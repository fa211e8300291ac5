// Package markdown writes a report for a pull request.
package markdown

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/escape"
	"plimsoll/internal/finding"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// Write writes the report for a pull request: the verdict, the table of the headlines,
// changes, the certificate and the command that repeats it.
func Write(w io.Writer, in report.Input) error {
	s := report.New(in)
	f := s.Findings
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", escapeMarkdown(f.Study), strings.ToLower(content.BadgeOf(s).Word))
	b.WriteString(markdownDataFailed(s))
	if f.Question != "" {
		fmt.Fprintf(&b, "> %s\n\n", escapeMarkdown(f.Question))
	}
	fmt.Fprintf(&b, "**%s**\n", escapeMarkdown(report.Plain(content.LeadSentence(s))))
	markdownTable(s, &b)
	markdownScaleOut(s, &b)
	for _, l := range content.Limits(s) {
		fmt.Fprintf(&b, "\n- limit %s: %s (%s, %s)", escapeMarkdown(l.Limit), l.State, l.Value, escapeMarkdown(l.Arm))
	}
	if len(f.Limits) > 0 {
		b.WriteByte('\n')
	}
	for _, l := range content.Faults(s) {
		fmt.Fprintf(&b, "\n- failed: %s", escapeMarkdown(l))
	}
	if len(f.Faults) > 0 {
		b.WriteByte('\n')
	}
	markdownPaths(s, &b)
	if t := f.Tuning; t != nil {
		fmt.Fprintf(&b, "\nTuning rounds, to %s:\n\n", escapeMarkdown(t.Aim()))
		for i := range t.Rounds {
			fmt.Fprintf(&b, "%d. %s\n", i+1, escapeMarkdown(content.RoundText(s, i)))
		}
		for i, line := range content.TuningLog(t) {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "- %s\n", escapeMarkdown(line))
		}
	}
	markdownReasons(f, &b)
	markdownAccounts(s, &b)
	if r := f.Recommendation; r != nil {
		fmt.Fprintf(&b, "\nRecommendation: %s\n", escapeMarkdown(report.Plain(r.Sentence)))
	}
	markdownCertificate(s, &b)
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

// markdownReasons are the explanations, and why no further counter was tested.
func markdownReasons(f *finding.Findings, b *strings.Builder) {
	for i := range f.Explanations {
		e := &f.Explanations[i]
		fmt.Fprintf(b, "\nWhy (%s): %s\n", e.Grade, escapeMarkdown(report.Plain(e.Sentence)))
		if e.Advice != "" {
			fmt.Fprintf(b, "Change: %s\n", escapeMarkdown(escape.Line(e.Advice)))
		}
	}
	for i, line := range f.Untested.Lines() {
		if i < 2 {
			b.WriteByte('\n')
		}
		if i > 0 {
			b.WriteString("- ")
		}
		fmt.Fprintf(b, "%s.\n", escapeMarkdown(escape.Line(line)))
	}
}

// valueOf is the mean of an arm, or a dash.
func valueOf(s *report.Sources, metric string, arm int) string {
	sum := s.Summary(metric, arm)
	if sum == nil {
		return "–"
	}
	mean, _ := s.About(sum)
	return mean
}

func markdownTable(s *report.Sources, b *strings.Builder) {
	if len(s.Findings.Headlines) == 0 {
		b.WriteString("\n| metric | arm | mean | interval | trials |\n|---|---|--:|---|--:|\n")
		for _, name := range s.Headlines() {
			for arm := range s.Arms() {
				if sum := s.Summary(name, arm); sum != nil {
					mean, between := s.About(sum)
					fmt.Fprintf(b, "| %s | %s | %s | %s | %d |\n", cell(name), cell(s.Brief(arm)), mean, between, sum.Trials)
				}
			}
		}
		return
	}
	b.WriteString("\n| metric | arm | baseline | value | change | interval | verdict | blocks |\n|---|---|--:|--:|--:|---|---|--:|\n")
	for i := range s.Findings.Headlines {
		c := &s.Findings.Headlines[i]
		interval := content.Between(c)
		if c.NoInterval {
			interval = "none"
		}
		verdict := string(c.Verdict)
		if r := content.Remark(c); r != "" {
			verdict += " (" + r + ")"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %d |\n", cell(c.Metric.Name), cell(s.Brief(c.Arm)),
			valueOf(s, c.Metric.Name, 0), valueOf(s, c.Metric.Name, c.Arm), content.ChangeOf(c), interval, verdict, c.Blocks)
	}
	fmt.Fprintf(b, "\nAgainst %s.\n", escapeMarkdown(s.Brief(0)))
}

func markdownScaleOut(s *report.Sources, b *strings.Builder) {
	o := s.Findings.ScaleOut
	if o == nil {
		return
	}
	fmt.Fprintf(b, "\n| %s | %s | interval | efficiency | interval | trials |\n|--:|--:|---|--:|---|--:|\n", cell(o.Units()), cell(o.Metric.Name))
	for _, l := range content.ScaleLines(s) {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", l.Size, cell(l.Mean), cell(l.Interval), l.Efficiency, l.Around, l.Trials)
	}
	lead := report.Plain(content.LeadSentence(s))
	for _, p := range content.ScaleSentences(s) {
		if report.Plain(p) == lead {
			continue
		}
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(report.Plain(p)))
	}
}

// markdownAccounts writes what each change is made of.
func markdownAccounts(s *report.Sources, b *strings.Builder) {
	all := content.Accounts(s)
	for _, a := range all[:min(len(all), content.MostAccounts)] {
		fmt.Fprintf(b, "\n| %s | change | interval | part |\n|---|--:|---|---|\n", cell(a.Heading))
		for _, l := range a.Terms {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", cell(l.Name), l.Change, l.Between, l.Share)
		}
	}
}

func markdownCertificate(s *report.Sources, b *strings.Builder) {
	l := content.CertificateOf(s)
	failing := l.Failing()
	if failing != "" {
		failing = " (" + escapeMarkdown(failing) + ")"
	}
	fmt.Fprintf(b, "\n<details><summary>Certificate: %d passed, %d failed%s, %d unknown; %s, %d void</summary>\n\n", l.Passed, l.Failed, failing, l.Unknown, report.Plural(s.Findings.Trials, "trial", "trials"), len(s.Findings.Void))
	b.WriteString("| state | check | detail |\n|---|---|---|\n")
	for _, c := range l.Checks {
		fmt.Fprintf(b, "| %s | %s | %s |\n", c.State, cell(c.Name), cell(c.Detail))
	}
	for _, v := range l.Voids {
		fmt.Fprintf(b, "\nTrial %d (%s) is void: %s\n", v.Trial, escapeMarkdown(v.Arm), escapeMarkdown(v.Cause))
	}
	b.WriteString("\n</details>\n")
}

// escapeMarkdown escapes Markdown and HTML.
func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", ">", "&gt;", "[", `\[`, "#", `\#`, "\n", " ").Replace(escape.Text(s))
}

func cell(s string) string { return strings.ReplaceAll(escapeMarkdown(s), "|", `\|`) }

func markdownDataFailed(s *report.Sources) string {
	b := content.DataFailed(s)
	if b == nil {
		return ""
	}
	return fmt.Sprintf("> **%s.** %s\n>\n> %s\n\n", b.Title, escapeMarkdown(b.Verdict), b.Note)
}
