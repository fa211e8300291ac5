// Package column measures text by the columns that it takes on a terminal, and aligns tables by
// them. East Asian wide characters take two, combining and format characters none.
package column

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width is how many columns a line of text takes.
func Width(line string) int {
	n := 0
	for _, r := range line {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	if r < 0x300 { // below the first combining character
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut divides a line behind what fits into a width.
func Cut(line string, width int) (head, rest string) {
	for i, r := range line {
		if width -= columns(r); width < 0 {
			return line[:i], line[i:]
		}
	}
	return line, ""
}

// Table aligns the cells of consecutive lines, which tabs separate, with two spaces between them.
// A line without a tab ends a table.
type Table struct {
	w    io.Writer
	text strings.Builder
}

// NewTable returns a table that Flush writes.
func NewTable(w io.Writer) *Table { return &Table{w: w} }

// Write adds text of the table.
func (t *Table) Write(text []byte) (int, error) { return t.text.Write(text) }

// Flush writes what was added.
func (t *Table) Flush() error {
	var out strings.Builder
	var rows [][]string
	for line := range strings.Lines(t.text.String()) {
		if strings.Contains(line, "\t") {
			rows = append(rows, strings.Split(line, "\t"))
			continue
		}
		align(&out, rows)
		rows = nil
		out.WriteString(line)
	}
	align(&out, rows)
	t.text.Reset()
	_, err := io.WriteString(t.w, out.String())
	return err
}

// align writes rows; the last cell of each has the end of its line.
func align(out *strings.Builder, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for k, cell := range row[:len(row)-1] {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], Width(cell)+2)
		}
	}
	for _, row := range rows {
		for k, cell := range row {
			out.WriteString(cell)
			if k < len(row)-1 {
				out.WriteString(strings.Repeat(" ", widths[k]-Width(cell)))
			}
		}
	}
}
