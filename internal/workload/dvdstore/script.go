package dvdstore

import (
	"fmt"
	"time"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// script is the dialogue of one connection: the calls of one user, in sequence. It does not
// allocate per call.
type script struct {
	shopper shopper
	session *engine.Session
	tally   *tally
	clock   func() time.Time // nil where the time of orders is not taken

	skip    int // statements before the call whose answers are of no interest
	rows    int
	result  int       // the number that the call brought
	started time.Time // of the order
}

// newDialogue is the dialogue of a connection.
func newDialogue(t *script, k *dialogue.Statements) *dialogue.Dialogue {
	return dialogue.New(dialogue.Setup{Session: t.session, Book: k, Window: 1, Retries: t.shopper.Retries, Count: &t.tally.Count, Failed: t.refused}, t)
}

// Draw draws the next call of the user.
func (t *script) Draw() int {
	first := !t.shopper.begun
	if first && t.clock != nil {
		t.started = t.clock()
	}
	t.shopper.next()
	if first {
		t.count()
	}
	return int(t.shopper.class)
}

// count counts the draws of an order.
func (t *script) count() {
	s := t.tally
	s.began++
	s.drawn[t.shopper.class]++
	s.drawn[browse] += int64(t.shopper.searches)
	s.drawn[searchReviews] += int64(t.shopper.finds)
	s.drawn[readReviews] += int64(t.shopper.reads)
	s.drawn[newMember] += int64(index(t.shopper.member))
	s.drawn[newReview] += int64(index(t.shopper.review))
	s.drawn[rate] += int64(index(t.shopper.opinion))
	if t.shopper.member && t.shopper.class == login {
		s.nested++
	}
}

// Ask appends the call, after the pause of a deadlock victim.
func (t *script) Ask(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	t.skip, t.rows, t.result = 0, 0, 0
	if turn.Again > 0 && t.shopper.faithful() && t.shopper.call != callNewCustomer {
		t.skip = 1
		b = t.session.Append(b, pause)
	}
	t.tally.asked[t.shopper.call]++
	if t.shopper.call == callPurchase && turn.First() { // not done until it is answered
		t.tally.pending += int64(t.shopper.lines)
		t.tally.pendingPieces += int64(t.shopper.bought())
		t.tally.pendingNet += int64(t.shopper.net())
	}
	return t.shopper.ask(b, t.session), dialogue.Another
}

// refused counts an attempt that failed.
func (t *script) refused(fault error) string {
	t.tally.refused[t.shopper.call]++
	return functionName(t.shopper.call) + ": " + fault.Error()
}

func functionName(c call) string {
	if c < functionsInAll {
		return functions[c].name
	}
	return "prices"
}

// Row takes a row of the call's result.
func (t *script) Row(turn dialogue.Turn, r *engine.Row) error {
	if turn.Results < t.skip {
		return nil
	}
	t.rows++
	switch t.shopper.call {
	case callLogin:
		t.result = int(r.Int())
		r.Value()
		r.Value()
		r.Value()
	case callNewCustomer, callNewMember, callNewReview, callRate, callPurchase:
		t.result = int(r.Int())
	case callPrices:
		product, price := int(r.Int()), int(r.Decimal(2))
		for n, p := range t.shopper.products[:t.shopper.lines] {
			if p == product {
				t.shopper.prices[n] = price
			}
		}
	default:
		return nil // the rows found are for the user to read
	}
	return r.End()
}

// Done ends a call. A name that is taken, and a customer who is a member already, are drawn
// again.
func (t *script) Done(_ dialogue.Turn, failed bool) (dialogue.Verdict, error) {
	if failed {
		return t.end(nil, true)
	}
	t.tally.answered[t.shopper.call]++
	switch {
	case t.shopper.call == callNewCustomer && t.result == 0:
		t.tally.taken++
		t.shopper.register()
		return dialogue.Repeat, nil
	case t.shopper.call == callNewMember && t.result == 0 && t.shopper.faithful():
		t.shopper.join()
		return dialogue.Repeat, nil
	}
	err := t.right()
	return t.end(err, err != nil)
}

// right judges a result, and takes it down.
func (t *script) right() error {
	wrong := func(format string, a ...any) error {
		return fmt.Errorf(functionName(t.shopper.call)+": "+format, a...)
	}
	switch t.shopper.call {
	case callLogin:
		if t.result != t.shopper.number {
			return wrong("user%d is not known", t.shopper.number)
		}
		t.shopper.customer = t.result
	case callNewCustomer:
		t.shopper.customer = t.result
		t.tally.customers++
	case callNewMember:
		if t.result != 0 {
			t.tally.members++
			t.shopper.customer = t.result // as published, the order continues as theirs
		}
	case callNewReview, callRate:
		if t.result <= 0 {
			return wrong("it has no number")
		}
	case callPrices:
		for n, price := range t.shopper.prices[:t.shopper.lines] {
			if price < 0 {
				return wrong("product %d has no price", t.shopper.products[n])
			}
		}
	case callPurchase:
		if !t.sold() {
			return wrong("it was not placed")
		}
	default:
		t.tally.looked++
		if t.rows > 0 {
			t.tally.found++
		}
		if t.rows > t.shopper.batch {
			return wrong("%d rows in the response; expected %d", t.rows, t.shopper.batch)
		}
	}
	return nil
}

// sold records a purchase. One that found too little in stock is an order where the
// load is faithful: on PostgreSQL a part of it stays, on MariaDB nothing.
func (t *script) sold() bool {
	s := t.tally
	switch {
	case t.result > 0:
		s.placed++
		s.lines += int64(t.shopper.lines)
		s.pieces += int64(t.shopper.bought())
		s.net += int64(t.shopper.net())
		t.settled()
	case !t.shopper.faithful():
		return false
	case t.session.GoesOn():
		s.short++
		s.undone++
		t.settled()
	default:
		s.short++
		s.net += int64(t.shopper.net())
		s.pendingNet -= int64(t.shopper.net())
	}
	return true
}

// settled says that it is known what there is of a purchase.
func (t *script) settled() {
	t.tally.pending -= int64(t.shopper.lines)
	t.tally.pendingPieces -= int64(t.shopper.bought())
	t.tally.pendingNet -= int64(t.shopper.net())
}

// end ends the call, and with the purchase or a failure the order.
func (t *script) end(err error, failed bool) (dialogue.Verdict, error) {
	if !failed {
		t.tally.done[t.shopper.class]++
	}
	switch {
	case failed && t.shopper.call == callPurchase: // nothing of it is there
		t.settled()
	case !failed && t.shopper.call != callPurchase:
		return dialogue.GoOn, nil
	case !failed && t.clock != nil:
		took := t.clock().Sub(t.started)
		t.tally.orders++
		t.tally.total += took
		t.tally.longest = max(t.tally.longest, took)
	}
	t.shopper.begun = false
	return dialogue.Pause, err
}
