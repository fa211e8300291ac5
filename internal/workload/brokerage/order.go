package brokerage

import (
	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dialogue"
)

// orderState is what is known of a trade order.
type orderState struct {
	wish
	account, customer int
	byName            bool // the security is given by its name
	rolled            bool // it is rolled back at the end

	broker, taxStatus, taxRate int
	price, charge, rate        int
	seen                       [3]bool // account, security, rates
	lots                       [mostLots]lot
	count                      int
	trade                      int
}

func (o *orderState) found() bool { return o.seen == [3]bool{true, true, true} }

func (d *desk) drawOrder() {
	var tier int
	o := &d.order
	o.customer, tier = d.source.customer(d.z)
	o.account = d.source.account(o.customer)
	o.wish = d.source.wish(d.z, o.account)
	o.byName, o.rolled = d.chance(nameShare), d.chance(rolledShare)
	d.tally.order(o, tier)
}

func (d *desk) symbol(n int) []byte {
	d.text = appendSymbol(d.text[:0], n)
	return d.text
}

// askOrder asks for the account and its customer and broker, the security and its price,
// what the account holds of it and what the order will cost; and then places it.
func (d *desk) askOrder(b []byte, t dialogue.Turn) []byte {
	o := &d.order
	if t.First() {
		d.drawOrder()
	}
	if t.Round == 2 {
		return d.place(b)
	}
	o.seen, o.count = [3]bool{}, 0
	b = dialogue.Execute(b, toAccount, o.account)
	security := toSymbol
	if o.byName {
		security = toName
		d.text = appendName(d.text[:0], o.security)
	} else {
		d.symbol(o.security)
	}
	b, at := security.AppendBind(b)
	b = postgres.AppendExecute(postgres.AppendText(b, d.text), at)
	holdings := toHoldings
	if o.lifo {
		holdings = toLast
	}
	b, at = holdings.AppendBind(b)
	b = postgres.AppendText(postgres.AppendInt(b, int32(o.account)), d.symbol(o.security))
	b = postgres.AppendExecute(b, at)
	b, at = toRates.AppendBind(b)
	b = postgres.AppendText(postgres.AppendInt(b, int32(o.account)), orderIDs[o.order])
	b = postgres.AppendExecute(postgres.AppendInt(b, int32(o.quantity)), at)
	if o.margin {
		b = dialogue.Execute(b, toAssets, o.account)
	}
	return b
}

// place writes the order down: for the exchange, or for the prices to come.
func (d *desk) place(b []byte) []byte {
	o := &d.order
	if !o.found() {
		return dialogue.Execute(b, dialogue.Rollback)
	}
	bid, state := o.price, "SBMT"
	if !o.order.market() {
		bid, state = o.bid, "PNDG"
	}
	estimate := deal{
		quantity: o.quantity, price: bid, order: o.order, charge: o.charge, rate: o.rate,
		taxStatus: o.taxStatus, taxRate: o.taxRate,
	}.execute(o.lots[:o.count])
	b, at := toTrade.AppendBind(b)
	b = postgres.AppendText(postgres.AppendText(b, state), orderIDs[o.order])
	b = postgres.AppendText(postgres.AppendText(b, truth(!o.margin)), d.symbol(o.security))
	b = postgres.AppendDecimal(postgres.AppendInt(b, int32(o.quantity)), int64(bid))
	d.text = appendCustomer(d.text[:0], o.customer)
	b = postgres.AppendText(postgres.AppendInt(b, int32(o.account)), d.text)
	b = postgres.AppendDecimal(postgres.AppendDecimal(b, int64(o.charge)), int64(estimate.commission))
	b = postgres.AppendExecute(postgres.AppendText(b, truth(o.lifo)), at)
	b, at = toHistory.AppendBind(b)
	b = postgres.AppendExecute(postgres.AppendText(b, state), at)
	if !o.order.market() {
		b, at = toRequest.AppendBind(b)
		b = postgres.AppendText(postgres.AppendText(b, orderIDs[o.order]), d.symbol(o.security))
		b = postgres.AppendDecimal(postgres.AppendInt(b, int32(o.quantity)), int64(bid))
		b = postgres.AppendExecute(postgres.AppendInt(b, int32(o.broker)), at)
	}
	if o.rolled {
		return dialogue.Execute(b, dialogue.Rollback)
	}
	return dialogue.Execute(b, dialogue.Commit)
}

func (d *desk) orderRow(t dialogue.Turn, r postgres.Row) error {
	o := &d.order
	switch {
	case t.Round == 2 && t.Results == 0:
		o.trade = int(r.Int())
	case t.Round != 1:
		return errRows
	case t.Results == 1:
		r.Value()
		o.broker, o.taxStatus = int(r.Int()), int(r.Int())
		r.Int()
		r.Int()
		o.taxRate = int(r.Decimal(2))
		o.seen[0] = true
		return pass(r)
	case t.Results == 2:
		r.Value()
		r.Value()
		o.price = int(r.Decimal(2))
		o.seen[1] = true
	case t.Results == 3:
		return takeLot(o.lots[:], &o.count, r)
	case t.Results == 4:
		o.charge, o.rate = int(r.Decimal(2)), int(r.Decimal(2))
		o.seen[2] = true
	case t.Results == 5 && o.margin:
		r.Decimal(2)
	default:
		return errRows
	}
	return r.End()
}

// takeLot takes a row of a holding.
func takeLot(lots []lot, count *int, r postgres.Row) error {
	if *count == len(lots) {
		return errRows
	}
	lots[*count] = lot{int(r.Int()), int(r.Decimal(2)), int(r.Int())}
	*count++
	return r.End()
}
