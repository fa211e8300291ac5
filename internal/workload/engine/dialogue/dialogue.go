// Package dialogue runs transactions of several round trips over a database session. A load's
// script appends the statements of each round. Common to all loads are the start of the
// session, waiting users, commit, rollback, and retries of deadlock victims.
package dialogue

import (
	"cmp"
	"errors"

	"plimsoll/internal/load"
	"plimsoll/internal/workload/engine"
)

// Turn is the progress of a transaction.
type Turn struct {
	Class   int // as it was drawn
	Round   int // 1 for the first round trip
	Again   int // number of retries
	Results int // responses in this round, BEGIN included
}

// First reports whether the transaction is new and its parameters are to be drawn.
func (t Turn) First() bool { return t.Round == 1 && t.Again == 0 }

// Step is what follows a round.
type Step uint8

// The steps.
const (
	Another  Step = iota // another round; with autocommit, the last
	Commit               // the end
	Rollback             // an intended rollback
)

// Verdict is what follows a transaction.
type Verdict uint8

// The outcomes.
const (
	Pause  Verdict = iota // think time of the user
	GoOn                  // no think time
	Repeat                // another round, with autocommit
)

// Script is the statements of a load on one connection. It is used by one goroutine.
type Script interface {
	// Draw draws the class of the next transaction, which may have to wait for others.
	Draw() int
	// Ask appends the statements of a round, without those that begin and end a transaction. A
	// retry starts with the first round, with the same parameters.
	Ask(b []byte, t Turn) ([]byte, Step)
	// Row handles a row of the current statement.
	Row(t Turn, r *engine.Row) error
	// Done ends the transaction. An error marks one as failed that the server accepted.
	Done(t Turn, failed bool) (Verdict, error)
}

// Setup is the configuration of a dialogue.
type Setup struct {
	Session *engine.Session // of the book
	Book    *Statements
	Window  int // users per connection
	Retries int // maximum number of retries
	Count   *engine.Count
	// Duplicates retries transactions that fail with a duplicate key.
	Duplicates bool
	// Failed, if set, is called for each failed attempt and returns the text to log.
	Failed func(fault error) string
}

// Dialogue is a load.MultiRequest. It allocates nothing for a transaction.
type Dialogue struct {
	Setup
	script   Script
	tasks    []task // a ring: transactions in progress and waiting
	from, to int
	owed     bool // Next has something to send
	turn     Turn

	opening           bool // BEGIN is in progress by itself
	failed, transient bool
	last              Step // the step to send after the current round
	ending            Step // COMMIT or ROLLBACK is in progress by itself
}

type task struct{ slot, class int }

// New is a dialogue that has not started.
func New(setup Setup, script Script) *Dialogue {
	return &Dialogue{Setup: setup, script: script, tasks: make([]task, setup.Window)}
}

// Request starts a transaction, or queues it behind others.
func (d *Dialogue) Request(b []byte, slot int) ([]byte, int) {
	class := d.script.Draw()
	d.tasks[d.to%len(d.tasks)] = task{slot, class}
	d.to++
	switch {
	case !d.Session.Begun():
		b = d.Session.AppendStart(b)
	case d.Session.Serving() && d.to-d.from == 1:
		b = d.begin(b)
	}
	return b, class
}

// Next continues the start of the session or its transaction.
func (d *Dialogue) Next(b []byte) []byte {
	if !d.owed {
		return b
	}
	d.owed = false
	switch {
	case !d.Session.Serving():
		return d.Session.AppendNext(b)
	case d.from == d.to:
		return b
	case d.ending != Another:
		return d.Session.AppendEnd(d.Session.Append(b, d.Book.number(d.ending)))
	case d.turn.Round > 0:
		return d.ask(b)
	}
	return d.begin(b)
}

// begin sends the first round of the oldest transaction.
func (d *Dialogue) begin(b []byte) []byte {
	d.turn = Turn{Class: d.tasks[d.from%len(d.tasks)].class}
	d.restart()
	return d.ask(b)
}

// restart retries the transaction.
func (d *Dialogue) restart() {
	d.turn.Round, d.turn.Results = 1, 0
	d.opening = d.Book.Begin == Apart
	d.failed, d.transient, d.last, d.ending = false, false, Another, Another
}

// ask appends a round, with the end of the transaction if it is the last. If the server
// continues after a failed statement, a commit waits for all responses.
func (d *Dialogue) ask(b []byte) []byte {
	if d.opening {
		return d.Session.AppendEnd(d.Session.Append(b, d.Book.begin))
	}
	if d.turn.Round == 1 && d.Book.Begin == Joined {
		b = d.Session.Append(b, d.Book.begin)
	}
	before := len(b)
	b, step := d.script.Ask(b, d.turn)
	switch {
	case step == Commit && d.Session.GoesOn() && len(b) > before:
		d.last = Commit
	case step != Another:
		b = d.Session.Append(b, d.Book.number(step))
	}
	return d.Session.AppendEnd(b)
}

var none = load.Answer{Slot: load.NoSlot}

// Answer parses messages up to the end of a transaction.
func (d *Dialogue) Answer(data []byte) (load.Answer, int, error) {
	return d.Session.Answer(data, d.hear)
}

func (d *Dialogue) hear(e engine.Event) (load.Answer, error) {
	switch {
	case e.Talk:
		d.owed = true
	case d.turn.Round == 0:
		return none, e.Unasked()
	case e.Row != nil && (d.opening || d.ending != Another):
		return none, errUnasked
	case e.Row != nil && !d.failed:
		return none, d.script.Row(d.turn, e.Row)
	case e.Fault != nil:
		d.fault(e)
	case e.Done && !d.opening:
		d.turn.Results++
	}
	if e.Over {
		return d.over(e.Idle)
	}
	return none, nil
}

var errUnasked = errors.New("unexpected response from the server")

// fault records a failed statement. The rest of the round is skipped by the server, fails as
// well, or is ignored.
func (d *Dialogue) fault(e engine.Event) {
	if d.failed {
		return
	}
	d.failed, d.transient = true, e.Conflict || e.Duplicate && d.Duplicates
	why := ""
	if d.Failed != nil {
		why = d.Failed(e.Fault)
	}
	if !d.transient {
		d.Count.Note(cmp.Or(why, e.Fault.Error()))
	}
}

// over ends a round.
func (d *Dialogue) over(idle bool) (load.Answer, error) {
	switch {
	case d.failed && !idle && d.ending != Rollback:
		d.ending, d.owed = Rollback, true // before a retry
		return none, nil
	case d.failed && d.transient && d.turn.Again < d.Retries:
		d.turn.Again++
		d.Count.Retries++
		d.restart()
		d.owed = true
		return none, nil
	case d.opening && !d.failed:
		d.opening, d.owed = false, true
		return none, nil
	case d.failed || idle || d.Book.Begin == Never:
		return d.end(), nil
	case d.last == Commit:
		d.last, d.ending, d.owed = Another, Commit, true
		return none, nil
	}
	d.another()
	return none, nil
}

func (d *Dialogue) another() {
	d.turn.Round++
	d.turn.Results = 0
	d.owed = true
}

// end ends the oldest transaction; Next starts the next one.
func (d *Dialogue) end() load.Answer {
	failed := d.failed
	verdict, err := d.script.Done(d.turn, failed)
	switch {
	case failed:
	case err != nil:
		d.Count.Note(err.Error())
		failed = true
	case verdict == Repeat:
		d.another()
		return none
	}
	slot := d.tasks[d.from%len(d.tasks)].slot
	d.from++
	d.turn.Round, d.ending = 0, Another
	d.owed = d.from != d.to
	return load.Answer{Slot: slot, Failed: failed, Again: verdict == GoOn && !failed}
}
