package brokerage

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// orderState is the state of a trade order.
type orderState struct {
	orderRequest
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

func (d *connectionScript) drawOrder() {
	var tier int
	o := &d.order
	o.customer, tier = d.source.customer(d.z)
	o.account = d.source.account(o.customer)
	o.orderRequest = d.source.wish(d.z, o.account)
	o.byName, o.rolled = d.source.chance(nameShare), d.source.chance(rolledShare)
	d.tally.order(o, tier)
}

func (d *connectionScript) symbol(n int) []byte {
	d.text = appendSymbol(d.text[:0], n)
	return d.text
}

// askOrder reads the account with its customer and broker, the security with its price, the
// holdings and the charges; then it places the order.
func (d *connectionScript) askOrder(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	o := &d.order
	if t.First() {
		d.drawOrder()
	}
	if t.Round == 2 {
		return d.place(b)
	}
	o.seen, o.count = [3]bool{}, 0
	account := engine.Int(o.account)
	b = d.session.Append(b, toAccount, account)
	if o.byName {
		d.text = appendName(d.text[:0], o.security)
		b = d.session.Append(b, toName, engine.Text(d.text))
	} else {
		b = d.session.Append(b, toSymbol, engine.Text(d.symbol(o.security)))
	}
	holdings := toHoldings
	if o.lifo {
		holdings = toLast
	}
	b = d.session.Append(b, holdings, account, engine.Text(d.symbol(o.security)))
	b = d.session.Append(b, toRates, account, engine.Word(orderIDs[o.order]), engine.Int(o.quantity))
	if o.margin {
		b = d.session.Append(b, toAssets, account)
	}
	return b, dialogue.Another
}

// place writes the order down: for the exchange, or for the prices to come.
func (d *connectionScript) place(b []byte) ([]byte, dialogue.Step) {
	o := &d.order
	if !o.found() {
		return b, dialogue.Rollback
	}
	bid, state := o.price, "SBMT"
	if !o.order.market() {
		bid, state = o.bid, "PNDG"
	}
	estimate := deal{
		quantity: o.quantity, price: bid, order: o.order, charge: o.charge, rate: o.rate,
		taxStatus: o.taxStatus, taxRate: o.taxRate,
	}.execute(o.lots[:o.count])
	d.name = appendCustomer(d.name[:0], o.customer)
	symbol, kind, status := engine.Text(d.symbol(o.security)), engine.Word(orderIDs[o.order]), engine.Word(state)
	b = d.session.Append(b, toTrade, status, kind, engine.Word(truth(!o.margin)), symbol, engine.Int(o.quantity), engine.Decimal(int64(bid)),
		engine.Int(o.account), engine.Text(d.name), engine.Decimal(int64(o.charge)), engine.Decimal(int64(estimate.commission)), engine.Word(truth(o.lifo)))
	b = d.session.Append(b, toHistory, status)
	if !o.order.market() {
		b = d.session.Append(b, toRequest, kind, symbol, engine.Int(o.quantity), engine.Decimal(int64(bid)), engine.Int(o.broker))
	}
	if o.rolled {
		return b, dialogue.Rollback
	}
	return b, dialogue.Commit
}

func (d *connectionScript) orderRow(t dialogue.Turn, r *engine.Row) error {
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
		return r.Rest()
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
func takeLot(lots []lot, count *int, r *engine.Row) error {
	if *count == len(lots) {
		return errRows
	}
	lots[*count] = lot{int(r.Int()), int(r.Decimal(2)), int(r.Int())}
	*count++
	return r.End()
}
