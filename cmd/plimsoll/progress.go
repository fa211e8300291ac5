package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"plimsoll/internal/console"
	"plimsoll/internal/report"
)

// watch shows how a run goes: a line that renews itself on a terminal, plain lines
// elsewhere, and on request each command and each write, also in a log file. The
// function that it returns takes the error of the run, ends all that and returns the
// error without what was shown of it. Its own error is a mistake.
func (c *command) watch(ctx context.Context, r *reporting) (logging context.Context, done func(error) error, err error) {
	logging, closeLog, err := c.logging(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	c.lab.Progress = nil
	if r.quiet {
		return logging, func(err error) error { return errors.Join(err, closeLog()) }, nil
	}
	d := &display{out: c.err}
	if w, f, ok := c.terminal(); ok && !r.verbose {
		d.renew, d.width = w.Renew, func() int { return widthOf(f) }
	}
	d.start()
	shown := &account{show: d.show}
	c.lab.Progress = shown.take
	return logging, func(err error) error {
		err = shown.close(err)
		d.close()
		return errors.Join(err, closeLog())
	}, nil
}

// terminal returns standard error where it is a terminal that can rewrite a line, and the terminal.
func (c *command) terminal() (*console.Writer, *os.File, bool) {
	w, f, ok := onTerminal(c.err)
	return w, f, ok && os.Getenv("TERM") != "dumb"
}

// widthOf is the width of a terminal in columns.
func widthOf(f *os.File) int {
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

// counted shows how far something is: one line that renews itself on a terminal, plain
// lines elsewhere. The second function ends the line.
func (c *command) counted() (show func(text string), done func()) {
	w, f, ok := c.terminal()
	if !ok {
		return func(text string) { fmt.Fprintln(c.err, text) }, func() {}
	}
	return func(text string) {
		w.Renew(clip(text, widthOf(f)-1))
	}, func() { w.Renew("") }
}

// fit makes the text of a report as wide as the terminal, and lets it use
// colours there.
func (c *command) fit(in report.Input) report.Input {
	_, f, ok := onTerminal(c.out)
	if !ok {
		return in
	}
	in.Width = widthOf(f)
	in.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return in
}

// columns is the width of standard output; 0 where it is no terminal.
func (c *command) columns() int {
	if _, f, ok := onTerminal(c.out); ok {
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

// printReport prints a report as text, in colour on a terminal.
func (c *command) printReport(in report.Input) error {
	in = c.fit(in)
	if w, ok := c.out.(*console.Writer); ok && in.Colour {
		return report.Text(w.Coloured(), in)
	}
	return report.Text(c.out, in)
}

// raw is standard output for data that programs read. A terminal still gets it escaped.
func (c *command) raw() io.Writer {
	if w, _, terminal := onTerminal(c.out); w != nil && !terminal {
		return w.Raw()
	}
	return c.out
}

func clip(s string, width int) string {
	r := []rune(s)
	if len(r) > width && width > 1 {
		return string(r[:width-1]) + "…"
	}
	return s
}
