package markdown

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// Compare writes comparisons for a pull request.
func Compare(w io.Writer, all []content.Compared) error {
	var b strings.Builder
	for i := range all {
		c := &all[i]
		s := report.New(c.Input)
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "**%s**\n\nBefore: %s. After: %s.\n", escapeMarkdown(report.Plain(content.LeadSentence(s))), escapeMarkdown(c.Sides[0].Text()), escapeMarkdown(c.Sides[1].Text()))
		if text := content.Caution(s); text != "" {
			fmt.Fprintf(&b, "\nCaution: %s\n", escapeMarkdown(text))
		}
		markdownChanges(&b, content.Changes(s))
	}
	fmt.Fprintf(&b, "\n%s\n", content.NotRandomised)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func markdownChanges(b *strings.Builder, all []content.Change) {
	b.WriteString("\n| metric | before | after | change | interval | verdict |\n|---|--:|--:|--:|---|---|\n")
	for i := range all {
		c := &all[i]
		name := c.Metric
		if c.Arm != "" {
			name += ", " + c.Arm
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", cell(name), cell(c.BeforeText), cell(c.AfterText), c.ChangeText, c.Interval, c.VerdictText())
	}
}

// Changes writes a table of before, after and change for the arms of a study.
func Changes(w io.Writer, in report.Input) error {
	s := report.New(in)
	all := content.HeadlineChanges(s)
	if len(all) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nBefore: %s.\n", escapeMarkdown(s.Brief(0)))
	markdownChanges(&b, all)
	_, err := io.WriteString(w, b.String())
	return err
}
