package dvdstore

import (
	"fmt"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/load"
)

// talk is the dialogue of one connection: the calls of one user, one after the other.
// It allocates nothing for each.
type talk struct {
	shopper
	session *engine.Session
	tally   *tally
	clock   func() time.Time // nil where the time of orders is not taken

	busy    bool
	owed    bool // Next has something to say
	slot    int
	again   int  // times that the call was tried again
	skip    int  // statements before the call whose answers are of no interest
	open    bool // what failed may have left a transaction open
	rows    int
	result  int // the number that the call brought
	fate    fate
	started time.Time // of the order
}

// fate is what became of an attempt.
type fate struct{ failed, transient bool }

// Request begins the next call of the user.
func (t *talk) Request(b []byte, slot int) ([]byte, int) {
	t.busy, t.slot, t.again = true, slot, 0
	if !t.begun && t.clock != nil {
		t.started = t.clock()
	}
	first := !t.begun
	t.next()
	if first {
		t.count()
	}
	t.restart()
	switch {
	case !t.session.Begun():
		return t.session.AppendStart(b), int(t.class)
	case t.session.Serving():
		return t.attempt(b), int(t.class)
	}
	return b, int(t.class)
}

// count counts what was drawn for an order.
func (t *talk) count() {
	s := t.tally
	s.began++
	s.drawn[t.class]++
	s.drawn[browse] += int64(t.searches)
	s.drawn[searchReviews] += int64(t.finds)
	s.drawn[readReviews] += int64(t.reads)
	s.drawn[newMember] += int64(index(t.member))
	s.drawn[newReview] += int64(index(t.review))
	s.drawn[rate] += int64(index(t.opinion))
	if t.member && t.class == login {
		s.nested++
	}
}

func (t *talk) restart() { t.rows, t.result, t.fate = 0, 0, fate{} }

// attempt asks for the call.
func (t *talk) attempt(b []byte) []byte {
	t.tally.asked[t.call]++
	if t.call == callPurchase && t.again == 0 { // not done until it is answered
		t.tally.pending += int64(t.lines)
		t.tally.pendingPieces += int64(t.bought())
		t.tally.pendingNet += int64(t.net())
	}
	return t.ask(t.before(b), t.session)
}

// Next goes on with the session or its call.
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
	}
	return t.attempt(b)
}

// before appends what comes before an attempt: the end of what failed, and the pause of a
// victim.
func (t *talk) before(b []byte) []byte {
	t.skip = 0
	if t.open {
		t.open = false
		t.skip++
		b = t.session.Append(b, undo)
	}
	if t.again > 0 && t.faithful() && t.call != callNewCustomer {
		t.skip++
		b = t.session.Append(b, pause)
	}
	return b
}

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of a call.
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
	case e.Fault != nil:
		t.fault(e)
	case e.Row != nil && t.skip == 0:
		if err := t.row(e.Row); err != nil {
			return none, err
		}
	case e.Done && t.skip > 0:
		t.skip--
	}
	if e.Over {
		return t.over(), nil
	}
	return none, nil
}

func (t *talk) fault(e engine.Event) {
	t.fate = fate{failed: true, transient: e.Conflict}
	if t.open = t.session.GoesOn(); !e.Conflict {
		t.tally.Note(functionName(t.call) + ": " + e.Fault.Error())
	}
}

func functionName(c call) string {
	if c < functionsInAll {
		return functions[c].name
	}
	return "prices"
}

// row takes a row of the call's result.
func (t *talk) row(r *engine.Row) error {
	t.rows++
	switch t.call {
	case callLogin:
		t.result = int(r.Int())
		r.Value()
		r.Value()
		r.Value()
	case callNewCustomer, callNewMember, callNewReview, callRate, callPurchase:
		t.result = int(r.Int())
	case callPrices:
		product, price := int(r.Int()), int(r.Decimal(2))
		for n, p := range t.products[:t.lines] {
			if p == product {
				t.prices[n] = price
			}
		}
	default:
		return nil // what was found is for the user to read
	}
	return r.End()
}

// over ends an attempt.
func (t *talk) over() load.Answer {
	switch {
	case t.fate.failed:
		t.tally.refused[t.call]++
	default:
		t.tally.answered[t.call]++
	}
	switch {
	case t.fate.failed && t.fate.transient && t.again < t.Retries:
		t.again++
		t.tally.Retries++
		return t.retry()
	case !t.fate.failed && t.call == callNewCustomer && t.result == 0:
		t.tally.taken++
		t.register()
		return t.retry()
	case !t.fate.failed && t.call == callNewMember && t.result == 0 && t.faithful(): // is one already
		t.join()
		return t.retry()
	case !t.fate.failed:
		t.fate.failed = !t.right()
	}
	return t.end()
}

func (t *talk) retry() load.Answer {
	t.restart()
	t.owed = true
	return none
}

// right judges a result, and takes it down.
func (t *talk) right() bool {
	wrong := func(format string, a ...any) bool {
		t.tally.Note(functionName(t.call) + ": " + fmt.Sprintf(format, a...))
		return false
	}
	switch t.call {
	case callLogin:
		if t.result != t.number {
			return wrong("user%d is not known", t.number)
		}
		t.customer = t.result
	case callNewCustomer:
		t.customer = t.result
		t.tally.customers++
	case callNewMember:
		if t.result != 0 {
			t.tally.members++
			t.customer = t.result // as published, the order goes on as theirs
		}
	case callNewReview, callRate:
		if t.result <= 0 {
			return wrong("it has no number")
		}
	case callPrices:
		for n, price := range t.prices[:t.lines] {
			if price < 0 {
				return wrong("product %d has no price", t.products[n])
			}
		}
	case callPurchase:
		return t.sold() || wrong("it was not placed")
	default:
		t.tally.looked++
		if t.rows > 0 {
			t.tally.found++
		}
		if t.rows > t.batch {
			return wrong("%d rows came where %d were wanted", t.rows, t.batch)
		}
	}
	return true
}

// sold takes down a purchase. One that found too little in stock is an order where the
// load is faithful: on PostgreSQL a part of it stays, on MariaDB nothing.
func (t *talk) sold() bool {
	s := t.tally
	switch {
	case t.result > 0:
		s.placed++
		s.lines += int64(t.lines)
		s.pieces += int64(t.bought())
		s.net += int64(t.net())
		t.settled()
	case !t.faithful():
		return false
	case t.session.GoesOn():
		s.short++
		s.undone++
		t.settled()
	default:
		s.short++
		s.net += int64(t.net())
		s.pendingNet -= int64(t.net())
	}
	return true
}

// settled says that it is known what there is of a purchase.
func (t *talk) settled() {
	t.tally.pending -= int64(t.lines)
	t.tally.pendingPieces -= int64(t.bought())
	t.tally.pendingNet -= int64(t.net())
}

// end ends the call, and with the purchase or a failure the order.
func (t *talk) end() load.Answer {
	t.busy = false
	a := load.Answer{Slot: t.slot, Failed: t.fate.failed, Again: true}
	if !a.Failed {
		t.tally.done[t.class]++
	}
	switch {
	case a.Failed && t.call == callPurchase: // nothing of it is there
		t.settled()
		fallthrough
	case a.Failed:
		t.begun, a.Again = false, false
	case t.call == callPurchase:
		t.begun, a.Again = false, false
		if t.clock != nil {
			took := t.clock().Sub(t.started)
			t.tally.orders++
			t.tally.total += took
			t.tally.longest = max(t.tally.longest, took)
		}
	}
	return a
}
