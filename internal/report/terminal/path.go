package terminal

import (
	"strings"

	"plimsoll/internal/column"
	"plimsoll/internal/escape"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// paths writes the path from the clients to the devices of a storage cluster.
func (t *terminal) paths(s *report.Sources) {
	for _, p := range content.PathTables(s) {
		t.b.WriteByte('\n')
		if rows := append([][]string{p.Columns}, p.Rows...); !t.grid(rows) && !t.grid(transposed(rows)) {
			t.list(p)
		}
	}
}

// transposed has the columns as rows.
func transposed(rows [][]string) [][]string {
	all := make([][]string, len(rows[0]))
	for i := range all {
		for _, row := range rows {
			all[i] = append(all[i], row[i])
		}
	}
	return all
}

// grid aligns rows, the first column left and the others right; false, and nothing written, where they are too wide.
func (t *terminal) grid(rows [][]string) bool {
	widths := make([]int, len(rows[0]))
	total := 2
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], column.Width(escape.Line(row[i])))
		}
		total += widths[i] + min(i, 1)*2
	}
	if total > t.width {
		return false
	}
	for _, row := range rows {
		for i, c := range row {
			c = escape.Line(c)
			pad := strings.Repeat(" ", widths[i]-column.Width(c))
			if t.b.WriteString("  "); i == 0 {
				t.b.WriteString(c + pad)
			} else {
				t.b.WriteString(pad + c)
			}
		}
		t.b.WriteByte('\n')
	}
	return true
}

// list writes each row as a sentence.
func (t *terminal) list(p content.PathTable) {
	for _, row := range p.Rows {
		var parts []string
		for i, c := range row[1:] {
			if c != content.None {
				parts = append(parts, p.Columns[i+1]+" "+c)
			}
		}
		t.wrap("  ", "    ", p.Columns[0]+", "+row[0]+": "+strings.Join(parts, "; "))
	}
}
