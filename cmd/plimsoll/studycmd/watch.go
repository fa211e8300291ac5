package studycmd

import (
	"context"
	"errors"
)

// watch shows how a run goes: a line that renews itself on a terminal, plain lines
// elsewhere, and on request each command and each write, also in a log file. The
// function that it returns takes the error of the run, ends all that and returns the
// error without what was shown of it. Its own error is a mistake.
func (c *commands) watch(ctx context.Context, r *reporting) (logging context.Context, done func(error) error, err error) {
	logging, closeLog, err := c.logging(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	c.lab.Progress = nil
	if r.quiet {
		return logging, func(err error) error { return errors.Join(err, closeLog()) }, nil
	}
	d := &display{out: c.screen.Err}
	if renew, width, ok := c.screen.Terminal(); ok && !r.verbose {
		d.renew, d.width = renew, width
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
