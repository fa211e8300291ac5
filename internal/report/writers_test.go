package report

import "io"

// writers are the forms of a report by the ending of their file.
func writers() map[string]func(io.Writer, Input) error {
	return map[string]func(io.Writer, Input) error{".html": HTML, ".md": Markdown, ".txt": Text}
}
