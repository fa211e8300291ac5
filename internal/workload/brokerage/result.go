package brokerage

import (
	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dialogue"
)

// resultState is what is known of a trade whose result is due.
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

// askResult asks for the trade, its account, which it locks, and what that holds; and
// then books what the exchange did.
func (d *desk) askResult(b []byte, t dialogue.Turn) []byte {
	r := &d.result
	if t.First() {
		r.trade, r.price = d.due(), d.between(lowest, highest)
	}
	if t.Round == 2 {
		return d.settle(b)
	}
	r.traded, r.found, r.summed, r.holds, r.count = false, false, false, 0, 0
	b = dialogue.Execute(b, trTrade, r.trade)
	b = dialogue.Execute(b, trAccount, r.trade)
	b = dialogue.Execute(b, trSummary, r.trade)
	return dialogue.Execute(b, trHoldings, r.trade)
}

func (d *desk) settle(b []byte) []byte {
	r := &d.result
	if !r.found {
		return dialogue.Execute(b, dialogue.Rollback)
	}
	o := r.execute(r.lots[:r.count])
	b = r.book(b, &o)
	b, at := trDone.AppendBind(b)
	b = postgres.AppendDecimal(postgres.AppendInt(b, int32(r.trade)), int64(r.price))
	b = postgres.AppendDecimal(postgres.AppendDecimal(b, int64(o.commission)), int64(o.tax))
	b = postgres.AppendExecute(b, at)
	b = dialogue.Execute(b, trHistory, r.trade)
	b, at = trSettle.AppendBind(b)
	b = postgres.AppendText(postgres.AppendInt(b, int32(r.trade)), cashType(r.cash))
	b = postgres.AppendExecute(postgres.AppendDecimal(b, int64(o.amount)), at)
	if r.cash {
		b, at = trPay.AppendBind(b)
		b = postgres.AppendDecimal(postgres.AppendInt(b, int32(r.account)), int64(o.amount))
		b = postgres.AppendExecute(b, at)
		b, at = trCash.AppendBind(b)
		b = postgres.AppendDecimal(postgres.AppendInt(b, int32(r.trade)), int64(o.amount))
		d.text = appendCash(d.text[:0], r.order, r.quantity, r.name)
		b = postgres.AppendExecute(postgres.AppendText(b, d.text), at)
	}
	// All trades of a broker change his row: it is the last, to be locked for the least time.
	b, at = trBroker.AppendBind(b)
	b = postgres.AppendDecimal(postgres.AppendInt(b, int32(r.broker)), int64(o.commission))
	b = postgres.AppendExecute(b, at)
	return dialogue.Execute(b, dialogue.Commit)
}

// book changes what the account holds.
func (r *resultState) book(b []byte, o *outcome) []byte {
	for _, s := range o.steps[:o.count] {
		switch {
		case s.lot == r.trade:
			var at int
			b, at = trHold.AppendBind(b)
			b = postgres.AppendInt(postgres.AppendInt(b, int32(r.trade)), int32(r.account))
			b = postgres.AppendDecimal(postgres.AppendText(b, r.symbol), int64(r.price))
			b = postgres.AppendExecute(postgres.AppendInt(b, int32(s.after)), at)
		case s.after == 0:
			b = dialogue.Execute(b, trSell, s.lot)
		default:
			b = dialogue.Execute(b, trChange, s.lot, s.after)
		}
		b = dialogue.Execute(b, trStep, s.lot, r.trade, s.before, s.after)
	}
	sum := r.holds + r.signed()
	how := trSum
	switch {
	case !r.summed:
		how = trFirst
	case sum == 0:
		how = trNone
	}
	b, at := how.AppendBind(b)
	b = postgres.AppendText(postgres.AppendInt(b, int32(r.account)), r.symbol)
	if how != trNone {
		b = postgres.AppendInt(b, int32(sum))
	}
	return postgres.AppendExecute(b, at)
}

func (d *desk) resultRow(t dialogue.Turn, row postgres.Row) error {
	r := &d.result
	switch {
	case t.Round == 2:
		return pass(row)
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

func (r *resultState) tradeRow(row postgres.Row) error {
	r.account = int(row.Int())
	var known bool
	r.order, known = orderOf(row.Value())
	r.symbol = append(r.symbol[:0], row.Value()...)
	r.quantity = int(row.Int())
	r.charge = int(row.Decimal(2))
	r.lifo = string(row.Value()) == "t"
	r.cash = string(row.Value()) == "t"
	r.name = append(r.name[:0], row.Value()...)
	r.traded = known
	return row.End()
}
