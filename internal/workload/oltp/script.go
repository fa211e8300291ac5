package oltp

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// script is what is said on one connection: one transaction after the other. It
// allocates nothing for each.
type script struct {
	load *oltp
	*source
	book    *book
	session *engine.Session
	tally   *tally

	draw [maxPlan]drawn
	rows [maxPlan]int  // of each step
	c    [lengthC]byte // a value that is written
	pad  [lengthPad]byte
}

// maxPlan is more than any transaction has steps.
const maxPlan = 24

// drawn is what was drawn for a step, so that it can be tried again.
type drawn struct{ table, id, k int }

// tally counts the outcomes of the transactions of one connection.
type tally struct {
	engine.Count
	done int64
}

// newDialogue is the dialogue of a connection.
func newDialogue(t *script) load.Dialogue {
	return dialogue.New(dialogue.Setup{Session: t.session, Book: t.book.Statements, Window: 1, Retries: t.load.Retries, Count: &t.tally.Count, Duplicates: true}, t)
}

// Draw draws what a transaction is about.
func (t *script) Draw() int {
	table := 0
	for i, s := range t.book.plan {
		if i == 0 || s != point || t.book.plan[i-1] != point { // ten rows are read from one table
			table = t.below(t.load.Tables)
		}
		t.draw[i] = drawn{table: table, id: 1 + t.below(t.load.Rows), k: 1 + t.below(t.load.Rows)}
		if s >= simpleRange && s <= distinctRange {
			t.draw[i].id = 1 + t.below(t.load.Rows-t.load.Range+1)
		}
		if s == insertRow {
			t.draw[i].table, t.draw[i].id = t.draw[i-1].table, t.draw[i-1].id
		}
	}
	return 0
}

// Ask asks the next step, or all of them.
func (t *script) Ask(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	if turn.Round == 1 {
		clear(t.rows[:])
	}
	switch n := len(t.book.plan); {
	case t.book.Begin == dialogue.Joined:
		for i := range n {
			b = t.step(b, i)
		}
		return b, dialogue.Commit
	case turn.Round <= n:
		return t.step(b, turn.Round-1), dialogue.Another
	case t.whole() != nil:
		return b, dialogue.Rollback
	}
	return b, dialogue.Commit
}

func (t *script) step(b []byte, i int) []byte {
	s, d := t.book.plan[i], &t.draw[i]
	n, id := t.book.tables[d.table][s], engine.Int(d.id)
	switch s {
	case simpleRange, sumRange, orderRange, distinctRange:
		return t.session.Append(b, n, id, engine.Int(d.id+t.load.Range-1))
	case otherUpdate:
		return t.session.Append(b, n, id, engine.Text(t.groups(t.c[:0], groupsC)))
	case insertRow:
		return t.session.Append(b, n, id, engine.Int(d.k), engine.Text(t.groups(t.c[:0], groupsC)), engine.Text(t.groups(t.pad[:0], groupsPad)))
	}
	return t.session.Append(b, n, id)
}

var errRow = errors.New("unexpected row from the server")

// Row counts a row of a step.
func (t *script) Row(turn dialogue.Turn, _ *engine.Row) error {
	i := turn.Round - 1
	if t.book.Begin == dialogue.Joined {
		i = turn.Results - 1 // the first is of BEGIN
	}
	if i < 0 || i >= len(t.book.plan) {
		return errRow
	}
	t.rows[i]++
	return nil
}

// whole looks that the steps brought as many rows as there are.
func (t *script) whole() error {
	for i, s := range t.book.plan {
		want := 0
		switch s {
		case point, sumRange:
			want = 1
		case simpleRange, orderRange:
			want = t.load.Range
		case distinctRange:
			want = t.rows[i] // values may be alike
		}
		if t.rows[i] != want {
			return fmt.Errorf("%d rows returned of %d", t.rows[i], want)
		}
	}
	return nil
}

// Done counts a transaction.
func (t *script) Done(_ dialogue.Turn, failed bool) (dialogue.Verdict, error) {
	if failed {
		return dialogue.Pause, nil
	}
	err := t.whole()
	if err == nil {
		t.tally.done++
	}
	return dialogue.Pause, err
}
