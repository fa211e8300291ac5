// Package dialogue drives transactions of several round trips over one session of
// PostgreSQL: what a load asks in each round is its script, and what is the same for all
// loads is here: the beginning of the session, the users who wait for their turn, the
// rollback of what failed, and victims that are tried again.
package dialogue

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
)

// Turn is where a transaction is.
type Turn struct {
	Class   int // as it was drawn
	Round   int // 1 for the first round trip
	Again   int // times that it was tried again
	Results int // statements that were answered in this round, Begin included
}

// First says that the transaction was not asked before: what it is about is to be drawn.
func (t Turn) First() bool { return t.Round == 1 && t.Again == 0 }

// Script is what a load says on one connection. It is used by one goroutine.
type Script interface {
	// Draw draws the class of the next transaction, which may have to wait for others.
	Draw() int
	// Ask appends the statements of a round. The transaction has begun, and ends with
	// the round that has Commit or Rollback. What is tried again is asked from its first
	// round, for the same things.
	Ask(b []byte, t Turn) []byte
	// Row takes a row of the statement whose turn it is.
	Row(t Turn, r postgres.Row) error
	// Done ends the transaction. An error fails one that the server let pass.
	Done(t Turn, failed bool) error
}

// Begin, Commit and Rollback are prepared beside the statements of a script.
var (
	Begin    = postgres.NewStatement("begin", "BEGIN")
	Commit   = postgres.NewStatement("commit", "COMMIT")
	Rollback = postgres.NewStatement("rollback", "ROLLBACK")
)

// Count is what went wrong on a connection.
type Count struct {
	Retries  int64  // transactions that were tried again
	Troubles int64  // and that the server refused, without a victim being why
	Why      string // of the first of them
}

// Note takes down a trouble.
func (c *Count) Note(why string) {
	if c.Troubles++; c.Why == "" {
		c.Why = why
	}
}

// Add adds those of another connection.
func (c *Count) Add(o Count) {
	c.Retries += o.Retries
	c.Troubles += o.Troubles
	if c.Why == "" {
		c.Why = o.Why
	}
}

// Setup is what a dialogue begins with.
type Setup struct {
	Session *postgres.Session // of Begin, Commit, Rollback and the statements of the script
	Window  int               // users of the connection
	Retries int               // how often a victim is tried again
	Count   *Count
}

// Dialogue is a load.Talker. It allocates nothing for a transaction.
type Dialogue struct {
	Setup
	script   Script
	tasks    []task // a ring: those under way and waiting
	from, to int
	owed     bool // Next has something to say
	turn     Turn

	failed, transient bool
	ending            bool // a rollback is under way: the transaction failed
}

type task struct{ slot, class int }

// New is a dialogue that has not begun.
func New(setup Setup, script Script) *Dialogue {
	return &Dialogue{Setup: setup, script: script, tasks: make([]task, setup.Window)}
}

// Request begins a transaction, or has it wait for those before it.
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

// Next goes on with the session or its transaction.
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
	case d.ending:
		return postgres.AppendSync(Execute(b, Rollback))
	case d.turn.Round > 0:
		return d.ask(b)
	}
	return d.begin(b)
}

// begin asks the first round of the oldest transaction.
func (d *Dialogue) begin(b []byte) []byte {
	d.turn = Turn{Class: d.tasks[d.from%len(d.tasks)].class}
	d.restart()
	return d.ask(b)
}

// restart has the same transaction tried again.
func (d *Dialogue) restart() {
	d.turn.Round, d.turn.Results = 1, 0
	d.failed, d.transient, d.ending = false, false, false
}

func (d *Dialogue) ask(b []byte) []byte {
	if d.turn.Round == 1 {
		b = Execute(b, Begin)
	}
	return postgres.AppendSync(d.script.Ask(b, d.turn))
}

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of a transaction.
func (d *Dialogue) Answer(data []byte) (load.Answer, int, error) {
	used := 0
	for {
		m, n, err := postgres.Next(data[used:])
		if err != nil || n == 0 {
			return none, used, err
		}
		used += n
		a, err := d.hear(m)
		if err != nil || a.Slot != load.NoSlot {
			return a, used, err
		}
	}
}

func (d *Dialogue) hear(m postgres.Message) (load.Answer, error) {
	switch m.Kind {
	case postgres.Notice, postgres.ParameterStatus, postgres.Notification:
		return none, nil
	}
	if !d.Session.Serving() {
		d.owed = true
		return none, refused(d.Session.Hear(m))
	}
	switch m.Kind {
	case postgres.Failure:
		return none, d.fault(m.Body)
	case postgres.DataRow:
		if d.turn.Round == 0 {
			return none, errUnasked
		}
		return none, d.script.Row(d.turn, postgres.ReadRow(m.Body))
	case postgres.CommandComplete:
		d.turn.Results++
	case postgres.Ready:
		return d.ready(m.Body)
	}
	return none, nil
}

var errUnasked = errors.New("the server answers what nobody asked")

// refused says that a server gave its reasons for an end, where it did.
func refused(err error) error {
	var f *postgres.Fault
	if errors.As(err, &f) {
		return fmt.Errorf("%w: %w", load.ErrRefused, err)
	}
	return err
}

// fault notes that a statement failed. The server passes over the rest of the round.
func (d *Dialogue) fault(body []byte) error {
	d.failed = true
	d.transient = postgres.Transient(body)
	if f := postgres.ReadFault(body); f.Fatal {
		return refused(f)
	} else if !d.transient {
		d.Count.Note(f.Error())
	}
	return nil
}

// ready ends a round.
func (d *Dialogue) ready(body []byte) (load.Answer, error) {
	state, err := postgres.ReadyState(body)
	if err != nil {
		return none, err
	}
	if d.from == d.to || d.turn.Round == 0 {
		return none, errUnasked
	}
	switch {
	case d.failed && state != postgres.Idle && !d.ending:
		d.ending, d.owed = true, true // it must be rolled back first
		return none, nil
	case d.failed && d.transient && d.turn.Again < d.Retries:
		d.turn.Again++
		d.Count.Retries++
		d.restart()
		d.owed = true
		return none, nil
	case d.failed || state == postgres.Idle:
		return d.end(), nil
	}
	d.turn.Round++
	d.turn.Results = 0
	d.owed = true
	return none, nil
}

// end ends the oldest transaction; the next one begins with Next.
func (d *Dialogue) end() load.Answer {
	failed := d.failed
	if err := d.script.Done(d.turn, failed); err != nil && !failed {
		d.Count.Note(err.Error())
		failed = true
	}
	slot := d.tasks[d.from%len(d.tasks)].slot
	d.from++
	d.turn.Round, d.ending = 0, false
	d.owed = d.from != d.to
	return load.Answer{Slot: slot, Failed: failed}
}

// Execute appends a statement with integers.
func Execute(b []byte, s *postgres.Statement, values ...int) []byte {
	b, place := s.AppendBind(b)
	for _, v := range values {
		b = postgres.AppendInt(b, int32(v))
	}
	return postgres.AppendExecute(b, place)
}
