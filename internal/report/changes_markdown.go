package report

import (
	"fmt"
	"io"
	"strings"
)

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
