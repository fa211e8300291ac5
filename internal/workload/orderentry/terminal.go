package orderentry

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/postgres"
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

// task is a transaction that waits for its turn on the connection, or has it.
type task struct {
	slot int
	kind kind
}

// terminal is the dialogue of one connection: the transactions of those who share it,
// one after the other. It allocates nothing for each.
type terminal struct {
	*source
	z       size
	session *postgres.Session
	home    int // warehouse of all its transactions; 0 draws one for each
	retries int
	tally   *tally

	tasks    []task // a ring: those under way and waiting
	from, to int
	owed     bool // Next has something to say
	tx       transaction
}

// transaction is what a terminal knows of the one that is under way.
type transaction struct {
	kind       kind
	round      int
	results    int // statements that were answered in this round
	again      int // times that it was tried again
	failed     bool
	transient  bool // and may be tried again
	ending     bool // a rollback is under way: the transaction failed
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

// Request begins a transaction, or has it wait for those before it.
func (t *terminal) Request(b []byte, slot int) ([]byte, int) {
	k := t.draw()
	t.tasks[t.to%len(t.tasks)] = task{slot, k}
	t.to++
	switch {
	case !t.session.Begun():
		b = t.session.AppendStart(b)
	case t.session.Serving() && t.to-t.from == 1:
		b = t.begin(b)
	}
	return b, int(k)
}

// Next goes on with the session or its transaction.
func (t *terminal) Next(b []byte) []byte {
	if !t.owed {
		return b
	}
	t.owed = false
	switch {
	case !t.session.Serving():
		return t.session.AppendNext(b)
	case t.from == t.to:
		return b
	case t.tx.round > 0 && t.tx.ending:
		return t.abort(b)
	case t.tx.round > 0:
		return t.ask(b)
	}
	return t.begin(b)
}

var none = load.Answer{Slot: load.NoSlot}

// Answer reads messages up to the end of a transaction.
func (t *terminal) Answer(data []byte) (load.Answer, int, error) {
	used := 0
	for {
		m, n, err := postgres.Next(data[used:])
		if err != nil {
			return none, used, err
		}
		if n == 0 {
			return none, used, nil
		}
		used += n
		a, err := t.hear(m)
		if err != nil || a.Slot != load.NoSlot {
			return a, used, err
		}
	}
}

// hear takes one message.
func (t *terminal) hear(m postgres.Message) (load.Answer, error) {
	switch m.Kind {
	case postgres.Notice, postgres.ParameterStatus, postgres.Notification:
		return none, nil
	}
	if !t.session.Serving() {
		t.owed = true
		return none, refused(t.session.Hear(m))
	}
	switch m.Kind {
	case postgres.Failure:
		return none, t.fault(m.Body)
	case postgres.DataRow:
		return none, t.row(m.Body)
	case postgres.CommandComplete:
		t.tx.results++
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

// fault notes that a statement failed. The server passes over the rest of the round.
func (t *terminal) fault(body []byte) error {
	t.tx.failed = true
	t.tx.transient = postgres.Transient(body)
	if f := postgres.ReadFault(body); f.Fatal {
		return refused(f)
	} else if !t.tx.transient {
		t.tally.note(f.Error())
	}
	return nil
}

// ready ends a round.
func (t *terminal) ready(body []byte) (load.Answer, error) {
	state, err := postgres.ReadyState(body)
	if err != nil {
		return none, err
	}
	if t.from == t.to || t.tx.round == 0 {
		return none, errors.New("the server answers what nobody asked")
	}
	tx := &t.tx
	switch {
	case tx.failed && state != postgres.Idle && !tx.ending:
		tx.ending, t.owed = true, true // it must be rolled back first
		return none, nil
	case tx.failed && tx.transient && tx.again < t.retries:
		tx.again++
		t.tally.retries++
		tx.restart()
		t.owed = true
		return none, nil
	case tx.failed:
		return t.end(true), nil
	case state == postgres.Idle:
		if tx.kind == newOrder && tx.missed != tx.invalid {
			t.tally.note(fmt.Sprintf("an item that is there was not found, or one was found that is not: %d of %d", tx.lines[tx.count-1].item, t.z.items))
			return t.end(true), nil
		}
		t.tally.completed(tx)
		return t.end(false), nil
	}
	tx.round++
	tx.results = 0
	t.owed = true
	return none, nil
}

// end ends the oldest transaction; the next one begins with Next.
func (t *terminal) end(failed bool) load.Answer {
	slot := t.tasks[t.from%len(t.tasks)].slot
	t.from++
	t.tx.round = 0
	t.owed = t.from != t.to
	return load.Answer{Slot: slot, Failed: failed}
}

// restart has the same transaction tried again.
func (tx *transaction) restart() {
	tx.round, tx.results = 1, 0
	tx.failed, tx.transient, tx.ending, tx.missed = false, false, false, false
	tx.idCount = 0
}

// begin draws the oldest transaction, and asks its first round.
func (t *terminal) begin(b []byte) []byte {
	tx := &t.tx
	tx.kind, tx.again = t.tasks[t.from%len(t.tasks)].kind, 0
	tx.restart()
	tx.w = t.home
	if tx.w == 0 {
		tx.w = t.between(1, t.z.warehouses)
	}
	tx.d = t.between(1, districts)
	tx.byName, tx.invalid, tx.remote = false, false, false
	switch tx.kind {
	case newOrder:
		t.drawOrder()
	case payment:
		t.drawPayment()
	case orderStatus:
		tx.cw, tx.cd = tx.w, tx.d
		t.drawCustomer()
	case delivery:
		tx.carrier = t.between(1, 10)
	case stockLevel:
		tx.threshold = t.between(10, 20)
	}
	return t.ask(b)
}

// ask asks the round of the transaction that is due.
func (t *terminal) ask(b []byte) []byte {
	if t.tx.round == 1 {
		b = execute(b, beginTransaction)
	}
	switch t.tx.kind {
	case newOrder:
		b = t.askOrder(b)
	case payment:
		b = t.askPayment(b)
	case orderStatus:
		b = t.askStatus(b)
	case delivery:
		b = t.askDelivery(b)
	case stockLevel:
		b = t.askStock(b)
	}
	return postgres.AppendSync(b)
}

// abort rolls back what failed.
func (t *terminal) abort(b []byte) []byte {
	return postgres.AppendSync(execute(b, rollbackTransaction))
}

// row takes a row of the statement whose turn it is.
func (t *terminal) row(body []byte) error {
	r := postgres.ReadRow(body)
	switch t.tx.kind {
	case newOrder:
		return t.orderRow(r)
	case payment:
		return t.paymentRow(r)
	case orderStatus:
		return t.statusRow(r)
	case delivery:
		return t.deliveryRow(r)
	}
	return t.stockRow(r)
}

// execute appends a statement with integers.
func execute(b []byte, s *postgres.Statement, values ...int) []byte {
	b, place := s.AppendBind(b)
	for _, v := range values {
		b = postgres.AppendInt(b, int32(v))
	}
	return postgres.AppendExecute(b, place)
}
