package brokerage

import (
	"errors"
	"slices"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// The classes of the operations.
const (
	tradeResult = iota
	tradeOrder
	tradeLookup
	tradeStatus
	marketFeed
	customerPosition
	marketWatch
	kinds
)

var names = [kinds]string{"trade_result", "trade_order", "trade_lookup", "trade_status", "market_feed", "customer_position", "market_watch"}

// mix is the share of each kind, per mille of the specification's transactions. Other kinds
// are left out, so the sum is lower.
var mix = [kinds]int{100, 101, 80, 190, 10, 130, 180}

const mixSum = 791

// connectionScript is the script of one connection. Trades that it sends to the exchange come back to
// it as trade results, in order.
type connectionScript struct {
	source  source
	z       size
	tally   *tally
	session *engine.Session

	exchange exchange

	order  orderState
	result resultState
	feed   feedState
	look   lookState
	view   viewState
	text   []byte // scratch
	name   []byte // of a customer, or a time: scratch as well
}

// Draw draws a transaction by its share. Orders and results are drawn as one, and it is a
// result when one is due.
func (d *connectionScript) Draw() int {
	n := d.source.IntN(mixSum)
	kind := kinds - 1
	for k, share := range mix {
		if n -= share; n < 0 {
			kind = k
			break
		}
	}
	if kind <= tradeOrder {
		kind = tradeOrder
		if len(d.exchange.due) > d.exchange.promised {
			d.exchange.promised++
			kind = tradeResult
		}
	}
	d.tally.drawn[kind]++
	return kind
}

// Ask appends a round trip of a transaction.
func (d *connectionScript) Ask(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	return transactions[t.Class].ask(d, b, t)
}

// transactions are the requests and response readers of each kind.
var transactions = [kinds]struct {
	ask func(d *connectionScript, b []byte, t dialogue.Turn) ([]byte, dialogue.Step)
	row func(d *connectionScript, t dialogue.Turn, r *engine.Row) error
}{
	tradeResult:      {(*connectionScript).askResult, (*connectionScript).resultRow},
	tradeOrder:       {(*connectionScript).askOrder, (*connectionScript).orderRow},
	tradeLookup:      {(*connectionScript).askLookup, (*connectionScript).lookupRow},
	tradeStatus:      {(*connectionScript).askStatus, unread},
	marketFeed:       {(*connectionScript).askFeed, (*connectionScript).feedRow},
	customerPosition: {(*connectionScript).askPosition, (*connectionScript).positionRow},
	marketWatch:      {(*connectionScript).askWatch, unread},
}

// unread is a row whose values nothing depends on.
func unread(_ *connectionScript, _ dialogue.Turn, r *engine.Row) error { return r.Rest() }

var errRows = errors.New("unexpected row from the server")

// Row takes a row.
func (d *connectionScript) Row(t dialogue.Turn, r *engine.Row) error {
	return transactions[t.Class].row(d, t, r)
}

// Done counts a transaction. Its orders are on the exchange from now on.
func (d *connectionScript) Done(t dialogue.Turn, failed bool) (dialogue.Verdict, error) {
	if failed {
		return dialogue.Pause, nil
	}
	if err := d.wrong(t.Class); err != nil {
		return dialogue.Pause, err
	}
	d.tally.done[t.Class]++
	switch {
	case t.Class == tradeOrder && d.order.rolled:
		d.tally.rolledBack++
	case t.Class == tradeOrder:
		d.tally.placed++
		if d.order.orderRequest.order.market() {
			d.exchange.due = append(d.exchange.due, d.order.trade)
		}
	case t.Class == marketFeed:
		d.tally.hits += int64(len(d.feed.hits))
		d.exchange.due = append(d.exchange.due, d.feed.hits...)
	}
	return dialogue.Pause, nil
}

// wrong is the error in the responses to a transaction.
func (d *connectionScript) wrong(kind int) error {
	switch {
	case kind == tradeResult && !d.result.found:
		return errors.New("a due trade is not submitted, or its account is missing")
	case kind == tradeOrder && !d.order.found():
		return errors.New("an existing account, security or rate was not found")
	case kind == tradeLookup && d.look.count == 0 && d.look.frame == byNumber:
		return errors.New("existing trades were not found")
	}
	return nil
}

// exchange is where trades wait for their results.
type exchange struct {
	due      []int // trades
	promised int   // of them, results drawn but not yet requested
}

// take is the trade whose result is due first, which is due no longer.
func (e *exchange) take() int {
	trade := e.due[0]
	e.due = slices.Delete(e.due, 0, 1)
	e.promised--
	return trade
}
