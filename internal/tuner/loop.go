package tuner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/trial/fault"
	"plimsoll/internal/tuner/dense"
)

// Clock is the time of a tuner.
type Clock interface {
	Now() time.Time
	After(d time.Duration) <-chan time.Time
}

type system struct{}

func (system) Now() time.Time                         { return time.Now() }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Kinds of events.
const (
	Started = "start"
	Decided = "decision"
	Ended   = "end" // all is put back, or Error says what is not
)

// Event is something that a tuner did.
type Event struct {
	Time     time.Time       `json:"time"`
	Kind     string          `json:"event"`
	Text     string          `json:"text"`
	Counters *dense.Counters `json:"counters,omitempty"` // of the interval that was decided
	Decision *dense.Decision `json:"decision,omitempty"`
	Changes  []string        `json:"changes,omitempty"` // settings that were changed or put back
	Notes    []string        `json:"notes,omitempty"`   // interfaces that are left alone, and why
	Error    string          `json:"error,omitempty"`
}

// outcome is the result of changes.
type outcome struct {
	changes, notes []string
	err            error
}

// hand turns batching on and off.
type hand interface {
	// On batches the interfaces that are not batched yet. It may be called while all are.
	On(ctx context.Context) outcome
	// Off puts everything back.
	Off(ctx context.Context) outcome
	// Left reports whether something is to be put back.
	Left() bool
}

// loop decides after each interval.
type loop struct {
	clock  Clock
	every  time.Duration
	see    func() (reading, error)
	hand   hand
	report func(Event)

	before reading
	on     bool
}

// putBackTime is the time limit to put settings back at the end.
const putBackTime = 30 * time.Second

// run decides until the context ends, and puts everything back. Its error is what could not be
// put back, or the trouble that ended it.
func (l *loop) run(ctx context.Context) (err error) {
	if l.before, err = l.see(); err != nil {
		return err
	}
	for err == nil {
		select {
		case <-ctx.Done():
			return l.end(ctx)
		case <-l.clock.After(l.every):
		}
		err = fault.Caught(func() error { l.step(ctx); return nil })
	}
	return errors.Join(err, l.end(ctx))
}

// step decides on the interval that has ended, and acts.
func (l *loop) step(ctx context.Context) {
	e := Event{Kind: Decided, Decision: &dense.Decision{}}
	now, err := l.see()
	if err != nil { // what is not seen is not dense
		*e.Decision = dense.Decision{Changed: l.on, Reason: fmt.Sprintf("off: %v", err)}
	} else {
		seen := between(l.before, now)
		l.before, e.Counters = now, &seen
		*e.Decision = dense.Decide(l.on, seen)
	}
	l.on = e.Decision.On
	var out outcome
	switch {
	case l.on:
		out = l.hand.On(ctx)
	case l.hand.Left():
		out = l.hand.Off(ctx)
	}
	e.Text = e.Decision.Reason
	l.tell(e, out)
}

// end puts everything back, also where the context has ended.
func (l *loop) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTime)
	defer cancel()
	var out outcome
	if l.hand.Left() {
		out = l.hand.Off(ctx)
	}
	if out.err != nil {
		out.err = fmt.Errorf("the tuner could not put back all settings: %w: run plimsoll restore", out.err)
	}
	l.tell(Event{Kind: Ended, Text: "the tuner ends"}, out)
	return out.err
}

func (l *loop) tell(e Event, out outcome) {
	e.Time, e.Changes, e.Notes = l.clock.Now().UTC(), out.changes, out.notes
	if out.err != nil {
		e.Error = out.err.Error()
	}
	l.report(e)
}
