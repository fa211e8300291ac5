package orderentry

import (
	"errors"
	"fmt"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// kind is one of the five transactions, and its class among the operations.
type kind uint8

const (
	newOrder kind = iota
	payment
	orderStatus
	delivery
	stockLevel
	kinds
)

var names = [kinds]string{"new_order", "payment", "order_status", "delivery", "stock_level"}

// deck is the mix, in percent: 43 + 4 + 4 + 4, and new orders for the rest.
var deck = [kinds]int{45, 43, 4, 4, 4}

// draw draws a transaction.
func (s *source) draw() kind {
	n := s.between(0, 99)
	for k, share := range deck {
		if n -= share; n < 0 {
			return kind(k)
		}
	}
	return stockLevel
}

// terminal is what is said on one connection: the transactions of those who share it. It
// allocates nothing for each.
type terminal struct {
	source *source
	*engine.Session
	z     size
	home  int // warehouse of all its transactions; 0 draws one for each
	tally *tally
	tx    transaction
}

// transaction is what a terminal knows of the one that is under way.
type transaction struct {
	w, d       int
	customer   int
	cw, cd     int  // where the customer is at home
	byName     bool // the customer is looked for by name
	name       [24]byte
	nameLength int
	amount     int64 // hundredths

	lines   [15]orderLine
	count   int
	remote  bool // a line comes from another warehouse
	invalid bool // the last item does not exist
	missed  bool // and so the server said

	orderID            int
	found              [districts]bool // of a delivery, as the rest
	orders, customers  [districts]int
	sums               [districts]int64
	carrier, threshold int
	ids                [64]int // of those with the name; more are counted only
	idCount            int
	label              [24]byte // warehouse and district of a payment
	labelLength        int
}

type orderLine struct {
	item, supply, quantity int
	price                  int64
	info                   [24]byte
}

// Draw draws the next transaction.
func (t *terminal) Draw() int { return int(t.source.draw()) }

// begin draws what a transaction is about.
func (t *terminal) begin(k kind) {
	tx := &t.tx
	tx.w = t.home
	if tx.w == 0 {
		tx.w = t.source.between(1, t.z.warehouses)
	}
	tx.d = t.source.between(1, districts)
	tx.byName, tx.invalid, tx.remote = false, false, false
	switch k {
	case newOrder:
		t.drawOrder()
	case payment:
		t.drawPayment()
	case orderStatus:
		tx.cw, tx.cd = tx.w, tx.d
		t.drawCustomer()
	case delivery:
		tx.carrier = t.source.between(1, 10)
		t.tally.deliveries++
	case stockLevel:
		tx.threshold = t.source.between(10, 20)
	}
}

// Ask asks the round of the transaction that is due.
func (t *terminal) Ask(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	if turn.First() {
		t.begin(kind(turn.Class))
	}
	if turn.Round == 1 {
		t.tx.missed, t.tx.idCount = false, 0
	}
	return transactions[turn.Class].ask(t, b, turn)
}

// transactions are how each kind is asked, and how its rows are read.
var transactions = [kinds]struct {
	ask func(t *terminal, b []byte, turn dialogue.Turn) ([]byte, dialogue.Step)
	row func(t *terminal, turn dialogue.Turn, r *engine.Row) error
}{
	newOrder:    {(*terminal).askOrder, (*terminal).orderRow},
	payment:     {(*terminal).askPayment, (*terminal).paymentRow},
	orderStatus: {(*terminal).askStatus, (*terminal).statusRow},
	delivery:    {(*terminal).askDelivery, (*terminal).deliveryRow},
	stockLevel:  {(*terminal).askStock, (*terminal).stockRow},
}

// Row takes a row of the statement whose turn it is.
func (t *terminal) Row(turn dialogue.Turn, r *engine.Row) error {
	return transactions[turn.Class].row(t, turn, r)
}

var errRows = errors.New("unexpected row in the response to a statement")

// Done counts what became of a transaction.
func (t *terminal) Done(turn dialogue.Turn, failed bool) (dialogue.Verdict, error) {
	tx := &t.tx
	switch {
	case failed:
		return dialogue.Pause, nil
	case kind(turn.Class) == newOrder && tx.missed != tx.invalid:
		return dialogue.Pause, fmt.Errorf("items found differ from the items that exist: %d of %d", tx.lines[tx.count-1].item, t.z.items)
	}
	t.tally.completed(kind(turn.Class), tx)
	return dialogue.Pause, nil
}
