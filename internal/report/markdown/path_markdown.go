package markdown

import (
	"fmt"
	"strings"

	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// markdownPaths writes the path from the clients to the devices of a storage cluster.
func markdownPaths(s *report.Sources, b *strings.Builder) {
	for _, t := range content.PathTables(s) {
		b.WriteByte('\n')
		for i, row := range append([][]string{t.Columns}, t.Rows...) {
			for _, text := range row {
				b.WriteString("| " + cell(text) + " ")
			}
			b.WriteString("|\n")
			if i == 0 {
				fmt.Fprintf(b, "|---%s|\n", strings.Repeat("|--:", len(row)-1))
			}
		}
	}
}
