package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"plimsoll/internal/console"
	"plimsoll/internal/report"
	"plimsoll/internal/trial"
)

// watch shows how a run goes: one line that renews itself on a terminal, plain
// lines elsewhere. The function that it returns takes the error of the run, ends the line and
// returns the error without what was shown of it.
func (c *command) watch(o *output) (done func(error) error) {
	c.lab.Progress = nil
	if o.quiet {
		return func(err error) error { return err }
	}
	w, f, ok := c.terminal()
	if !ok {
		shown := &account{show: func(e trial.Event) {
			if lasting(e) {
				fmt.Fprintln(c.err, line(e))
			}
		}}
		c.lab.Progress = shown.take
		return shown.close
	}
	var last renewal
	shown := &account{show: func(e trial.Event) {
		if !last.due(e, time.Now()) {
			return
		}
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			width = 80
		}
		w.Renew(clip(line(e), width-1))
		if lasting(e) {
			fmt.Fprintln(w)
		}
	}}
	c.lab.Progress = shown.take
	return func(err error) error {
		err = shown.close(err)
		w.Renew("")
		return err
	}
}

// terminal returns standard error where it is a terminal that can rewrite a line, and the terminal.
func (c *command) terminal() (*console.Writer, *os.File, bool) {
	w, f, ok := onTerminal(c.err)
	return w, f, ok && os.Getenv("TERM") != "dumb"
}

// renewal is what a line that renews itself showed last, and when.
type renewal struct {
	at    time.Time
	phase trial.Phase
}

// due says whether an event is to be shown now: each phase is, since the next event may be minutes
// away, and within one ten events a second.
func (r *renewal) due(e trial.Event, now time.Time) bool {
	if !lasting(e) && e.Phase == r.phase && now.Sub(r.at) < 100*time.Millisecond {
		return false
	}
	r.at, r.phase = now, e.Phase
	return true
}

// counted shows how far something is: one line that renews itself on a terminal, plain
// lines elsewhere. The second function ends the line.
func (c *command) counted() (show func(text string), done func()) {
	w, f, ok := c.terminal()
	if !ok {
		return func(text string) { fmt.Fprintln(c.err, text) }, func() {}
	}
	return func(text string) {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			width = 80
		}
		w.Renew(clip(text, width-1))
	}, func() { w.Renew("") }
}

// lasting tells the events that stay on the screen: what ended, and what
// somebody should know.
func lasting(e trial.Event) bool {
	return e.Phase == trial.PhaseJudged || e.Phase == trial.PhaseEnd || e.Note != ""
}

// line is an event as a person reads it.
func line(e trial.Event) string {
	var b strings.Builder
	if e.Trial > 0 {
		fmt.Fprintf(&b, "trial %d of at most %d · block %d · %s · ", e.Trial, e.Trials, e.Block, e.Arm)
	}
	b.WriteString(string(e.Phase))
	if e.Rate > 0 {
		fmt.Fprintf(&b, " · %.0f/s", e.Rate)
	}
	if e.Note != "" {
		fmt.Fprintf(&b, ": %s", e.Note)
	}
	if e.Left > 0 && e.Phase != trial.PhaseEnd {
		fmt.Fprintf(&b, " · %s left at most", short(e.Left))
	}
	return b.String()
}

// short writes a time with the precision that a person wants of a forecast.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()+.5))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// fit makes the text of a report as wide as the terminal, and lets it use
// colours there.
func (c *command) fit(in report.Input) report.Input {
	_, f, ok := onTerminal(c.out)
	if !ok {
		return in
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		in.Width = width
	}
	in.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return in
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
