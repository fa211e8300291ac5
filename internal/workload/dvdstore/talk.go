package dvdstore

import (
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
)

// talk is the dialogue of one connection: the calls of one user, one after the other.
// It allocates nothing for each.
type talk struct {
	shopper
	session *postgres.Session
	tally   *tally
	clock   func() time.Time // nil where the time of orders is not taken

	busy    bool
	owed    bool // Next has something to say
	slot    int
	again   int // times that the call was tried again
	skip    bool
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
	return t.ask(b)
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
	case t.again > 0 && t.faithful() && t.call != callNewCustomer:
		t.skip = true
		var place int
		b, place = pause.AppendBind(b)
		b = postgres.AppendExecute(b, place)
	}
	return t.attempt(b)
}

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of a call.
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
	case m.Kind == postgres.Notice || m.Kind == postgres.ParameterStatus || m.Kind == postgres.Notification:
		return none, nil
	case !t.session.Serving():
		t.owed = true
		return none, refused(t.session.Hear(m))
	case m.Kind == postgres.Failure:
		return none, t.fault(m.Body)
	case !t.busy:
		return none, fmt.Errorf("the server sends a message %q that nobody asked for", m.Kind)
	}
	switch m.Kind {
	case postgres.DataRow:
		return none, t.row(m.Body)
	case postgres.CommandComplete:
		t.skip = false
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

func (t *talk) fault(body []byte) error {
	t.fate = fate{failed: true, transient: postgres.Transient(body)}
	if f := postgres.ReadFault(body); f.Fatal || !t.busy {
		return refused(f)
	} else if !t.fate.transient {
		t.tally.note(functionName(t.call) + ": " + f.Error())
	}
	return nil
}

func functionName(c call) string {
	if c < functionsInAll {
		return functionNames[c]
	}
	return "prices"
}

// row takes a row of the call's result.
func (t *talk) row(body []byte) error {
	if t.skip {
		return nil
	}
	r := postgres.ReadRow(body)
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

// ready ends an attempt.
func (t *talk) ready(body []byte) (load.Answer, error) {
	if _, err := postgres.ReadyState(body); err != nil {
		return none, err
	}
	t.skip = false
	switch {
	case t.fate.failed:
		t.tally.refused[t.call]++
	default:
		t.tally.answered[t.call]++
	}
	switch {
	case t.fate.failed && t.fate.transient && t.again < t.Retries:
		t.again++
		t.tally.retries++
		return t.retry(), nil
	case !t.fate.failed && t.call == callNewCustomer && t.result == 0:
		t.tally.taken++
		t.register()
		return t.retry(), nil
	case !t.fate.failed:
		t.fate.failed = !t.right()
	}
	return t.end(), nil
}

func (t *talk) retry() load.Answer {
	t.restart()
	t.owed = true
	return none
}

// right judges a result, and takes it down.
func (t *talk) right() bool {
	wrong := func(format string, a ...any) bool {
		t.tally.note(functionName(t.call) + ": " + fmt.Sprintf(format, a...))
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
// load is faithful, and a part of it stays.
func (t *talk) sold() bool {
	s := t.tally
	if t.result > 0 {
		s.placed++
		s.lines += int64(t.lines)
		s.pieces += int64(t.bought())
		s.pending -= int64(t.lines)
		s.pendingPieces -= int64(t.bought())
	} else if !t.faithful() {
		return false
	} else {
		s.short++
	}
	s.net += int64(t.net())
	s.pendingNet -= int64(t.net())
	return true
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
		t.tally.pending -= int64(t.lines)
		t.tally.pendingPieces -= int64(t.bought())
		t.tally.pendingNet -= int64(t.net())
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
