package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/column"
)

// Wrap breaks a text into lines of at most width columns; 0 or less is no limit.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && width > 0 && column.Width(line)+1+column.Width(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Fold breaks the lines of a text that are longer than width; 0 is no limit. What follows stands below the value of
// a line such as "name    value" that begins in the left half, and below the text of any other one.
func Fold(text string, width int) string {
	const widest = 24 // of a name
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest := strings.TrimSuffix(line, "\n")
		indent := len(rest) - len(strings.TrimLeft(rest, " "))
		if gap := strings.Index(rest[indent:], "  "); gap > 0 && column.Width(rest[:indent+gap]) < widest {
			value := strings.TrimLeft(rest[indent+gap:], " ")
			if at := column.Width(strings.TrimSuffix(rest, value)); at <= width/2 {
				indent = at
			}
		}
		for width > indent+1 && column.Width(rest) > width {
			head, next := column.Cut(rest, width)
			if !strings.HasPrefix(next, " ") {
				head = head[:strings.LastIndexByte(head, ' ')+1]
			}
			if column.Width(head) <= indent {
				break
			}
			fmt.Fprintln(&b, strings.TrimRight(head, " "))
			rest = strings.Repeat(" ", indent) + strings.TrimPrefix(strings.TrimPrefix(rest, head), " ")
		}
		fmt.Fprintln(&b, rest)
	}
	return b.String()
}

// PrintJSON prints a value as an indented JSON document.
func PrintJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// Folded prints a text as wide as the terminal.
func (c *Screen) Folded(write func(io.Writer) error) error {
	var text strings.Builder
	if err := write(&text); err != nil {
		return err
	}
	_, err := io.WriteString(c.Out, Fold(text.String(), c.Columns()))
	return err
}

// Brief writes a time with the precision that a person wants of a forecast.
func Brief(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()+.5))
	case d < 10*time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()+.5))
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}
