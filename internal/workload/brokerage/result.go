package brokerage

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// resultState is the state of a due trade result.
type resultState struct {
	deal
	account, broker int
	symbol, name    []byte
	cash            bool
	holds           int // shares, below zero where they are owed
	summed          bool
	lots            [mostLots]lot
	count           int
	traded          bool // its row was there
	found           bool // and its account's
}

// askResult reads the trade, its account, which it locks, and the holdings; then it books
// the result.
func (d *connectionScript) askResult(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	r := &d.result
	if t.First() {
		r.trade, r.price = d.exchange.take(), d.source.between(lowest, highest)
	}
	if t.Round == 2 {
		return d.settle(b)
	}
	r.traded, r.found, r.summed, r.holds, r.count = false, false, false, 0, 0
	for _, statement := range [...]int{trTrade, trAccount, trSummary, trHoldings} {
		b = d.session.Append(b, statement, engine.Int(r.trade))
	}
	return b, dialogue.Another
}

func (d *connectionScript) settle(b []byte) ([]byte, dialogue.Step) {
	r := &d.result
	if !r.found {
		return b, dialogue.Rollback
	}
	o := r.execute(r.lots[:r.count])
	trade, amount := engine.Int(r.trade), engine.Decimal(int64(o.amount))
	b = r.book(d.session, b, &o)
	b = d.session.Append(b, trDone, trade, engine.Decimal(int64(r.price)), engine.Decimal(int64(o.commission)), engine.Decimal(int64(o.tax)))
	b = d.session.Append(b, trHistory, trade)
	b = d.session.Append(b, trSettle, trade, engine.Word(cashType(r.cash)), amount)
	if r.cash {
		d.text = appendCash(d.text[:0], r.order, r.quantity, r.name)
		b = d.session.Append(b, trPay, engine.Int(r.account), amount)
		b = d.session.Append(b, trCash, trade, amount, engine.Text(d.text))
	}
	// All trades of a broker change his row: it is the last, to be locked for the least time.
	b = d.session.Append(b, trBroker, engine.Int(r.broker), engine.Decimal(int64(o.commission)))
	return b, dialogue.Commit
}

// book updates the holdings.
func (r *resultState) book(to *engine.Session, b []byte, o *outcome) []byte {
	trade, account, symbol := engine.Int(r.trade), engine.Int(r.account), engine.Text(r.symbol)
	for _, s := range o.steps[:o.count] {
		lot, after := engine.Int(s.lot), engine.Int(s.after)
		switch {
		case s.lot == r.trade:
			b = to.Append(b, trHold, trade, account, symbol, engine.Decimal(int64(r.price)), after)
		case s.after == 0:
			b = to.Append(b, trSell, lot)
		default:
			b = to.Append(b, trChange, lot, after)
		}
		b = to.Append(b, trStep, lot, trade, engine.Int(s.before), after)
	}
	switch sum := r.holds + r.signed(); {
	case !r.summed:
		return to.Append(b, trFirst, account, symbol, engine.Int(sum))
	case sum == 0:
		return to.Append(b, trNone, account, symbol)
	default:
		return to.Append(b, trSum, account, symbol, engine.Int(sum))
	}
}

func (d *connectionScript) resultRow(t dialogue.Turn, row *engine.Row) error {
	r := &d.result
	switch {
	case t.Round == 2:
		return row.Rest()
	case t.Results == 1:
		return r.tradeRow(row)
	case t.Results == 2:
		r.broker, r.taxStatus = int(row.Int()), int(row.Int())
		r.taxRate, r.rate = int(row.Decimal(2)), int(row.Decimal(2))
		r.found = r.traded
	case t.Results == 3:
		r.holds, r.summed = int(row.Int()), true
	case t.Results == 4:
		return takeLot(r.lots[:], &r.count, row)
	default:
		return errRows
	}
	return row.End()
}

func (r *resultState) tradeRow(row *engine.Row) error {
	r.account = int(row.Int())
	var known bool
	r.order, known = orderOf(row.Value())
	r.symbol = append(r.symbol[:0], row.Value()...)
	r.quantity = int(row.Int())
	r.charge = int(row.Decimal(2))
	r.lifo = row.Bool()
	r.cash = row.Bool()
	r.name = append(r.name[:0], row.Value()...)
	r.traded = known
	return row.End()
}
