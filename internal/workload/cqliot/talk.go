package cqliot

import (
	"errors"
	"fmt"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
)

// talk is the dialogue of one connection. It allocates nothing for an operation.
type talk struct {
	dealer  *cycleQueue
	session *cql.Session
	tally   *tally
	classes [2]int // of the verbs
	node    int    // that it is connected to, once that is known
	slots   []operation
	early   []int // slots that wait for the session
	owed    bool
}

// tally counts the outcomes of one connection's operations.
type tally struct {
	reads, found, readings int64
	elsewhere, all         int64
	faults                 faults
	acknowledged           []int64 // cycles that were written, a few of them
	latest                 []int64 // the last of them, with the oldest at place writes%lastKept
	writes, countdown      int
	under, deepest         int // operations under way, and the most that ever were
}

// Every some writes one is kept, to be read again after the trial, and the last of all,
// which a server that crashed would lack.
const (
	everyWrite = 500
	mostKept   = 200
	lastKept   = 64
)

func (t *tally) wrote(cycle int64) {
	if len(t.latest) < cap(t.latest) {
		t.latest = append(t.latest, cycle)
	} else if len(t.latest) > 0 {
		t.latest[t.writes%lastKept] = cycle
	}
	t.writes++
	if t.countdown--; t.countdown > 0 {
		return
	}
	t.countdown = everyWrite
	if len(t.acknowledged) < cap(t.acknowledged) {
		t.acknowledged = append(t.acknowledged, cycle)
	}
}

// Request begins an operation.
func (t *talk) Request(b []byte, slot int) ([]byte, int) {
	o, here := t.dealer.deal(t.node)
	t.tally.all++
	t.tally.under++
	t.tally.deepest = max(t.tally.deepest, t.tally.under)
	if !here {
		t.tally.elsewhere++
	}
	t.slots[slot] = o
	class := t.classes[o.verb]
	switch {
	case t.session.Serving():
		return t.ask(b, slot), class
	case !t.session.Begun():
		b = t.session.AppendStart(b)
	}
	t.early = append(t.early, slot)
	return b, class
}

func (t *talk) ask(b []byte, slot int) []byte {
	o := &t.slots[slot]
	b, place := t.session.AppendExecute(b, int(o.verb), slot)
	if o.verb == read {
		b = o.key.append(b)
	} else {
		b = t.dealer.readings.appendReading(b, o.key, o.cycle)
	}
	return t.session.End(b, place)
}

// Next continues the handshake, then the operations that waited for it.
func (t *talk) Next(b []byte) []byte {
	if !t.owed {
		return b
	}
	t.owed = false
	b = t.session.AppendNext(b)
	if !t.session.Serving() {
		return b
	}
	if told := t.session.Told(); len(told) == 1 {
		t.node = max(0, t.dealer.chart.now().node(told[0][0]))
	}
	for _, slot := range t.early {
		b = t.ask(b, slot)
	}
	t.early = nil
	return b
}

// errForgotten ends a connection, which the next one mends: a server forgets statements when
// a table is changed.
var errForgotten = fmt.Errorf("%w: the prepared statements are gone", load.ErrRefused)

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of an operation.
func (t *talk) Answer(data []byte) (load.Answer, int, error) {
	for used := 0; ; {
		m, n, err := t.session.Next(data[used:])
		if err != nil || n == 0 {
			return none, used, err
		}
		used += n
		if m.Body == nil {
			continue
		}
		a, err := t.hear(m)
		if err != nil || a.Slot != load.NoSlot {
			a.Last = a.Last || t.dealer.chart.now().left(t.node) // others hold what it held
			return a, used, err
		}
	}
}

func (t *talk) hear(m cql.Message) (load.Answer, error) {
	switch {
	case m.Stream < 0:
		return none, nil
	case !t.session.Serving():
		t.owed = true
		err := t.session.Hear(m)
		var f *cql.Fault
		if errors.As(err, &f) {
			err = fmt.Errorf("%w: %w", load.ErrRefused, err)
		}
		return none, err
	case m.Stream >= len(t.slots):
		return none, fmt.Errorf("unexpected response to request %d", m.Stream)
	case m.Failed():
		t.tally.under--
		f := cql.ReadFault(m.Body)
		t.tally.faults.note(f.Kind(), f.Error())
		if f.Code == cql.Unprepared {
			return none, errForgotten
		}
		return load.Answer{Slot: m.Stream, Failed: true, Last: f.Leaving()}, nil
	case !m.Result():
		return none, fmt.Errorf("unexpected message type %d", m.Opcode)
	}
	t.tally.under--
	o := &t.slots[m.Stream]
	if o.verb == write {
		t.tally.wrote(o.cycle)
		return load.Answer{Slot: m.Stream, Bytes: int64(len(t.dealer.readings.data(o.key.hash)))}, nil
	}
	rows, err := cql.ReadRows(m.Body)
	if err == nil {
		err = rows.Skip()
	}
	if err != nil {
		return none, err
	}
	t.tally.read(rows.Left)
	a := load.Answer{Slot: m.Stream, Bytes: int64(len(m.Body))}
	if rows.Left > t.dealer.iot.Limit {
		t.tally.faults.note("too many rows", fmt.Sprintf("%d rows in the response; expected at most %d", rows.Left, t.dealer.iot.Limit))
		a.Failed = true
	}
	return a, nil
}

func (t *tally) read(rows int) {
	t.reads++
	t.readings += int64(rows)
	if rows > 0 {
		t.found++
	}
}
