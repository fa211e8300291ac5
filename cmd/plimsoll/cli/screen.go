package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"plimsoll/internal/column"
	"plimsoll/internal/console"
	"plimsoll/internal/report"
	"plimsoll/internal/report/terminal"
)

// Screen is where a command prints: results to Out, progress and errors to Err.
type Screen struct{ Out, Err io.Writer }

// Terminal rewrites the last line of standard error, and tells its width in columns. It is not
// ok where standard error is no terminal that can do so.
func (c *Screen) Terminal() (renew func(text string), width func() int, ok bool) {
	w, f, ok := onTerminal(c.Err)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil, nil, false
	}
	return w.Renew, func() int { return widthOf(f) }, true
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// widthOf is the width of a terminal in columns.
func widthOf(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// Counter shows how far something is: one line that renews itself on a terminal, plain
// lines elsewhere. The second function ends the line.
func (c *Screen) Counter() (show func(text string), done func()) {
	renew, width, ok := c.Terminal()
	if !ok {
		return func(text string) { fmt.Fprintln(c.Err, text) }, func() {}
	}
	return func(text string) { renew(Clip(text, width()-1)) }, func() { renew("") }
}

// Fit makes the text of a report as wide as the terminal, and lets it use
// colours there.
func (c *Screen) Fit(in report.Input) report.Input {
	_, f, ok := onTerminal(c.Out)
	if !ok {
		return in
	}
	in.Width = widthOf(f)
	in.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return in
}

// Columns is the width of standard output; 0 where it is no terminal.
func (c *Screen) Columns() int {
	if _, f, ok := onTerminal(c.Out); ok {
		return widthOf(f)
	}
	return 0
}

// onTerminal is a writer to a terminal, and the terminal.
func onTerminal(out io.Writer) (*console.Writer, *os.File, bool) {
	w, ok := out.(*console.Writer)
	if !ok {
		return nil, nil, false
	}
	f := w.File()
	return w, f, f != nil && term.IsTerminal(int(f.Fd()))
}

// PrintReport prints a report as text, in colour on a terminal.
func (c *Screen) PrintReport(in report.Input) error {
	in = c.Fit(in)
	if w, ok := c.Out.(*console.Writer); ok && in.Colour {
		return terminal.Write(w.Coloured(), in)
	}
	return terminal.Write(c.Out, in)
}

// Painted is standard output for text in which foreign text was escaped, and whether it may have
// colours.
func (c *Screen) Painted() (w io.Writer, colour bool) {
	to, _, terminal := onTerminal(c.Out)
	if !terminal || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return c.Out, false
	}
	return to.Coloured(), true
}

// Raw is standard output for data that programs read. A terminal still gets it escaped.
func (c *Screen) Raw() io.Writer {
	if w, _, terminal := onTerminal(c.Out); w != nil && !terminal {
		return w.Raw()
	}
	return c.Out
}

// Abandoned is closed once nobody reads the results any more.
func (c *Screen) Abandoned() <-chan struct{} {
	if w, ok := c.Out.(*console.Writer); ok {
		return w.Abandoned()
	}
	return nil
}

// Clip cuts a text to a width in columns.
func Clip(s string, width int) string {
	if column.Width(s) <= width || width <= 1 {
		return s
	}
	head, _ := column.Cut(s, width-1)
	return head + "…"
}

// Told is anything that can be Told to a person or a program.
type Told interface{ Text(w io.Writer) error }

// Tell prints an answer as text, or as JSON.
func (c *Screen) Tell(t Told, asJSON bool) error {
	if asJSON {
		return PrintJSON(c.Out, t)
	}
	return c.Folded(t.Text)
}
