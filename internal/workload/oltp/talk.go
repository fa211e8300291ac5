package oltp

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
)

// talk is the dialogue of one connection: one transaction after the other. It
// allocates nothing for each.
type talk struct {
	*oltp
	*source
	book    *book
	session *postgres.Session
	tally   *tally

	busy  bool
	owed  bool // Next has something to say
	slot  int
	asked int // steps of the transaction that were asked
	done  int // and answered
	rows  int // of the step that is being answered
	draw  [maxPlan]drawn
	again int
	fate  fate
}

// maxPlan is more than any transaction has steps.
const maxPlan = 24

// drawn is what was drawn for a step, so that it can be tried again.
type drawn struct{ table, id, k int }

// fate is what became of a transaction.
type fate struct {
	failed, conflict, undoing bool
}

// tally counts what came of the transactions of one connection.
type tally struct {
	done, retries, troubles int64
	why                     string // the first
}

func (t *tally) note(why string) {
	if t.troubles++; t.why == "" {
		t.why = why
	}
}

// Request begins a transaction.
func (t *talk) Request(b []byte, slot int) ([]byte, int) {
	t.busy, t.slot, t.again = true, slot, 0
	table := 0
	for i, s := range t.book.plan {
		if i == 0 || s != point || t.book.plan[i-1] != point { // ten rows are read from one table
			table = t.below(t.Tables)
		}
		t.draw[i] = drawn{table: table, id: 1 + t.below(t.Rows), k: 1 + t.below(t.Rows)}
		if s >= simpleRange && s <= distinctRange {
			t.draw[i].id = 1 + t.below(t.Rows-t.Range+1)
		}
		if s == insertRow {
			t.draw[i].table, t.draw[i].id = t.draw[i-1].table, t.draw[i-1].id
		}
	}
	t.restart()
	switch {
	case !t.session.Begun():
		return t.session.AppendStart(b), 0
	case t.session.Serving():
		return t.ask(b), 0
	}
	return b, 0
}

func (t *talk) restart() { t.asked, t.done, t.rows, t.fate = 0, 0, 0, fate{} }

// Next goes on with the session or its transaction.
func (t *talk) Next(b []byte) []byte {
	if !t.owed {
		return b
	}
	t.owed = false
	switch {
	case !t.session.Serving():
		return t.session.AppendNext(b)
	case !t.busy:
		return b
	case t.fate.undoing:
		b, place := t.book.undo.AppendBind(b)
		return postgres.AppendSync(postgres.AppendExecute(b, place))
	}
	return t.ask(b)
}

// ask asks the next step, or all that are left.
func (t *talk) ask(b []byte) []byte {
	for t.asked < len(t.book.plan) {
		b = t.step(b, t.book.plan[t.asked], &t.draw[t.asked])
		t.asked++
		if !t.Pipeline {
			break
		}
	}
	return postgres.AppendSync(b)
}

func (t *talk) step(b []byte, s step, d *drawn) []byte {
	statement := t.book.begin
	switch {
	case s == commit:
		statement = t.book.commit
	case s < steps:
		statement = t.book.tables[d.table][s]
	}
	b, place := statement.AppendBind(b)
	if s < steps {
		b = postgres.AppendInt(b, int32(d.id))
	}
	switch s {
	case simpleRange, sumRange, orderRange, distinctRange:
		b = postgres.AppendInt(b, int32(d.id+t.Range-1))
	case otherUpdate:
		b = t.digits(b, groupsC, lengthC)
	case insertRow:
		b = postgres.AppendInt(b, int32(d.k))
		b = t.digits(b, groupsC, lengthC)
		b = t.digits(b, groupsPad, lengthPad)
	}
	return postgres.AppendExecute(b, place)
}

// digits appends a value of groups of digits, of the given length.
func (t *talk) digits(b []byte, groups, length int) []byte {
	return t.groups(append(b, 0, 0, 0, byte(length)), groups)
}

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of a transaction.
func (t *talk) Answer(data []byte) (load.Answer, int, error) {
	for used := 0; ; {
		m, n, err := postgres.Next(data[used:])
		if err != nil || n == 0 {
			return none, used, err
		}
		used += n
		a, err := t.hear(m)
		if err != nil || a.Slot != load.NoSlot {
			return a, used, err
		}
	}
}

func (t *talk) hear(m postgres.Message) (load.Answer, error) {
	switch {
	case m.Kind == postgres.Notice || m.Kind == postgres.ParameterStatus:
		return none, nil
	case !t.session.Serving():
		if err := t.session.Hear(m); err != nil {
			return none, refused(err)
		}
		t.owed = true
		return none, nil
	case !t.busy:
		if m.Kind == postgres.Failure {
			return none, refused(postgres.ReadFault(m.Body))
		}
		return none, fmt.Errorf("the server sends a message %q that nobody asked for", m.Kind)
	}
	switch m.Kind {
	case postgres.Failure:
		return none, t.fault(m.Body)
	case postgres.DataRow:
		t.rows++
	case postgres.CommandComplete:
		return none, t.complete()
	case postgres.Ready:
		return t.ready(m.Body)
	}
	return none, nil
}

// refused says that a server gave its reasons for an end, where it did.
func refused(err error) error {
	var f *postgres.Fault
	if errors.As(err, &f) {
		return fmt.Errorf("%w: %w", load.ErrRefused, err)
	}
	return err
}

// complete looks that a step brought as many rows as there are.
func (t *talk) complete() error {
	if t.fate.undoing {
		return nil
	}
	if t.done >= t.asked {
		return errors.New("the server answers more than it was asked")
	}
	want := 0
	switch s := t.book.plan[t.done]; s {
	case point, sumRange:
		want = 1
	case simpleRange, orderRange:
		want = t.Range
	case distinctRange:
		want = t.rows // values may be alike
	}
	if t.rows != want && !t.fate.failed {
		t.fate.failed = true
		t.tally.note(fmt.Sprintf("%d rows came of %d that are there", t.rows, want))
	}
	t.done++
	t.rows = 0
	return nil
}

// uniqueViolation is the code of a key that is there already: of two transactions that
// write the same row again, the second finds that of the first.
const uniqueViolation = "23505"

func (t *talk) fault(body []byte) error {
	f := postgres.ReadFault(body)
	if f.Fatal {
		return refused(f)
	}
	t.fate.failed = true
	t.fate.conflict = f.Code == uniqueViolation || f.Code == postgres.DeadlockDetected || f.Code == postgres.SerializationFailure
	if !t.fate.conflict {
		t.tally.note(f.Error())
	}
	return nil
}

// ready ends a round trip.
func (t *talk) ready(body []byte) (load.Answer, error) {
	state, err := postgres.ReadyState(body)
	switch {
	case err != nil:
		return none, err
	case t.fate.failed && state != postgres.Idle && !t.fate.undoing:
		t.fate.undoing, t.owed = true, true
		return none, nil
	case t.fate.failed && t.fate.conflict && t.again < t.Retries:
		t.again++
		t.tally.retries++
		t.restart()
		t.owed = true
		return none, nil
	case !t.fate.failed && t.done < len(t.book.plan):
		t.owed = true
		return none, nil
	}
	t.busy = false
	if !t.fate.failed {
		t.tally.done++
	}
	return load.Answer{Slot: t.slot, Failed: t.fate.failed}, nil
}
