package report_test

import (
	"io"

	"plimsoll/internal/report"
	"plimsoll/internal/report/markdown"
	"plimsoll/internal/report/page"
	"plimsoll/internal/report/terminal"
)

// writers are the forms of a report by the ending of their file.
func writers() map[string]func(io.Writer, report.Input) error {
	return map[string]func(io.Writer, report.Input) error{".html": page.Write, ".md": markdown.Write, ".txt": terminal.Write}
}
