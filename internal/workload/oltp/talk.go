package oltp

import (
	"errors"
	"fmt"

	"plimsoll/internal/engine"
	"plimsoll/internal/load"
)

// talk is the dialogue of one connection: one transaction after the other. It
// allocates nothing for each.
type talk struct {
	*oltp
	*source
	book    *book
	session *engine.Session
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
	c     [lengthC]byte // a value that is written
	pad   [lengthPad]byte
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
	engine.Count
	done int64
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
		return t.session.AppendEnd(t.session.Append(b, undoNumber))
	}
	return t.ask(b)
}

// ask asks the next step, or all that are left. Where a server goes on after a step that
// failed, the last one waits until all others are known to be done.
func (t *talk) ask(b []byte) []byte {
	for first := t.asked; t.asked < len(t.book.plan); {
		s := t.book.plan[t.asked]
		if s == commit && t.asked > first && t.session.GoesOn() {
			break
		}
		b = t.step(b, s, &t.draw[t.asked])
		t.asked++
		if !t.Pipeline {
			break
		}
	}
	return t.session.AppendEnd(b)
}

func (t *talk) step(b []byte, s step, d *drawn) []byte {
	switch s {
	case begin:
		return t.session.Append(b, beginNumber)
	case commit:
		return t.session.Append(b, commitNumber)
	}
	n, id := t.book.tables[d.table][s], engine.Int(d.id)
	switch s {
	case simpleRange, sumRange, orderRange, distinctRange:
		return t.session.Append(b, n, id, engine.Int(d.id+t.Range-1))
	case otherUpdate:
		return t.session.Append(b, n, id, engine.Text(t.groups(t.c[:0], groupsC)))
	case insertRow:
		return t.session.Append(b, n, id, engine.Int(d.k), engine.Text(t.groups(t.c[:0], groupsC)), engine.Text(t.groups(t.pad[:0], groupsPad)))
	}
	return t.session.Append(b, n, id)
}

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of a transaction.
func (t *talk) Answer(data []byte) (load.Answer, int, error) {
	return t.session.Answer(data, t.hear)
}

func (t *talk) hear(e engine.Event) (load.Answer, error) {
	switch {
	case e.Talk:
		t.owed = true
		return none, nil
	case !t.busy:
		return none, e.Unasked()
	case e.Row != nil:
		t.rows++
	case e.Fault != nil:
		t.fault(e)
	case e.Done:
		if err := t.complete(); err != nil {
			return none, err
		}
	}
	if e.Over {
		return t.ready(e.Idle), nil
	}
	return none, nil
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
		t.tally.Note(fmt.Sprintf("%d rows came of %d that are there", t.rows, want))
	}
	t.done++
	t.rows = 0
	return nil
}

// fault notes that a step failed. What followed it in a pipeline fails as well, or is of
// no interest.
func (t *talk) fault(e engine.Event) {
	if t.rows = 0; t.fate.failed {
		return
	}
	t.fate.failed, t.fate.conflict = true, e.Conflict || e.Duplicate
	if !t.fate.conflict {
		t.tally.Note(e.Fault.Error())
	}
}

// ready ends a round trip.
func (t *talk) ready(idle bool) load.Answer {
	switch {
	case t.fate.failed && !idle && !t.fate.undoing:
		t.fate.undoing, t.owed = true, true
		return none
	case t.fate.failed && t.fate.conflict && t.again < t.Retries:
		t.again++
		t.tally.Retries++
		t.restart()
		t.owed = true
		return none
	case !t.fate.failed && t.done < len(t.book.plan):
		t.owed = true
		return none
	}
	t.busy = false
	if !t.fate.failed {
		t.tally.done++
	}
	return load.Answer{Slot: t.slot, Failed: t.fate.failed}
}
