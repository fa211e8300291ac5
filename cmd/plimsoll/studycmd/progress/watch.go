// Package progress shows how a run goes, and logs what it does.
package progress

import (
	"context"
	"errors"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/trial"
)

// Options say how much of a run is shown, and where.
type Options struct {
	Screen  *cli.Screen
	Quiet   bool
	Verbose bool
	Log     string // file
}

// A Watch shows a run.
type Watch struct {
	Context context.Context   // of the run; it logs
	Take    func(trial.Event) // shows an event; nil for none
	Done    func(error) error // ends all that; of the error of the run it returns what was not shown
}

// Start shows how a run goes: a line that renews itself on a terminal, plain lines
// elsewhere, and on request each command and each write, also in a log file. Its error
// is a mistake.
func Start(ctx context.Context, o Options) (*Watch, error) {
	logging, closeLog, err := o.logging(ctx)
	if err != nil {
		return nil, err
	}
	if o.Quiet {
		return &Watch{Context: logging, Done: func(err error) error { return errors.Join(err, closeLog()) }}, nil
	}
	d := &display{out: o.Screen.Err}
	if renew, width, ok := o.Screen.Terminal(); ok && !o.Verbose {
		d.renew, d.width = renew, width
	}
	d.start()
	shown := &account{show: d.show}
	return &Watch{Context: logging, Take: shown.take, Done: func(err error) error {
		err = shown.close(err)
		d.close()
		return errors.Join(err, closeLog())
	}}, nil
}
