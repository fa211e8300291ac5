// Package progress shows how a run goes, and logs what it does.
package progress

import (
	"context"
	"errors"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/events"
	"plimsoll/internal/trial"
)

// Options say how much of a run is shown, and where.
type Options struct {
	Screen  *cli.Screen
	Quiet   bool
	Verbose bool
	Log     string // file
	Events  string // file, or ToScreen; empty for none
	Version string // of plimsoll
}

// ToScreen is in place of a file: standard error.
const ToScreen = "-"

// A Watch shows a run.
type Watch struct {
	Context context.Context   // of the run; it logs
	Take    func(trial.Event) // shows an event; nil for none
	Events  *events.Stream    // takes events; nil for none
	Done    func(error) error // ends all that; of the error of the run it returns what was not shown
}

// Start shows how a run goes: a line that renews itself on a terminal, plain lines
// elsewhere, and on request each command and each write, also in a log file. Its error
// is a mistake. Events on standard error are alone there.
func Start(ctx context.Context, o Options) (*Watch, error) {
	logging, closeLog, err := o.logging(ctx)
	if err != nil {
		return nil, err
	}
	stream, closeEvents, err := o.stream()
	if err != nil {
		return nil, errors.Join(err, closeLog())
	}
	if o.Quiet || o.Events == ToScreen {
		return &Watch{Context: logging, Events: stream, Done: func(err error) error { return errors.Join(err, closeEvents(), closeLog()) }}, nil
	}
	d := &display{out: o.Screen.Err}
	if renew, width, ok := o.Screen.Terminal(); ok && !o.Verbose {
		d.renew, d.width = renew, width
	}
	d.start()
	shown := &account{show: d.show}
	return &Watch{Context: logging, Take: shown.take, Events: stream, Done: func(err error) error {
		err = shown.close(err)
		d.close()
		return errors.Join(err, closeEvents(), closeLog())
	}}, nil
}
