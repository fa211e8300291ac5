package orderentry

import (
	"errors"

	"plimsoll/internal/postgres"
)

var errRows = errors.New("the server answers a statement with a row that nobody asked for")

// drawOrder draws a new order (clause 2.4.1). Its lines are sorted by item, so that
// two of them never wait for each other.
func (t *terminal) drawOrder() {
	tx := &t.tx
	tx.customer = t.source.customer(t.z)
	tx.count = t.between(5, 15)
	for i := range tx.lines[:tx.count] {
		l := orderLine{item: t.item(t.z), supply: tx.w, quantity: t.between(1, 10)}
		if t.z.warehouses > 1 && t.chance(1) {
			l.supply, tx.remote = t.other(tx.w), true
			t.tally.remoteLines++
		}
		tx.lines[i] = l
	}
	if tx.invalid = t.chance(1); tx.invalid {
		tx.lines[tx.count-1].item = t.z.items + 1
	}
	sortLines(tx.lines[:tx.count])
	t.tally.orders++
	t.tally.lines += int64(tx.count)
	if tx.invalid {
		t.tally.invalid++
	}
}

// other draws a warehouse that is not the given one.
func (t *terminal) other(w int) int {
	o := t.between(1, t.z.warehouses-1)
	if o >= w {
		o++
	}
	return o
}

func sortLines(lines []orderLine) {
	for i := 1; i < len(lines); i++ {
		for k := i; k > 0 && before(&lines[k], &lines[k-1]); k-- {
			lines[k], lines[k-1] = lines[k-1], lines[k]
		}
	}
}

func before(a, b *orderLine) bool {
	return a.item < b.item || a.item == b.item && a.supply < b.supply
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *terminal) askOrder(b []byte) []byte {
	tx := &t.tx
	if tx.round == 1 {
		b = execute(b, noDistrict, tx.w, tx.d)
		b = execute(b, noWarehouse, tx.w)
		b = execute(b, noCustomer, tx.w, tx.d, tx.customer)
		for i := range tx.lines[:tx.count] {
			l := &tx.lines[i]
			l.price = -1 // until the item is found
			b = execute(b, noItem, l.item)
			b = execute(b, noStock, l.supply, l.item, tx.d, l.quantity, truth(l.supply != tx.w))
		}
		return b
	}
	for i := range tx.lines[:tx.count] {
		tx.missed = tx.missed || tx.lines[i].price < 0
	}
	if tx.missed {
		return execute(b, rollbackTransaction)
	}
	b = execute(b, noOrder, tx.orderID, tx.d, tx.w, tx.customer, tx.count, truth(!tx.remote))
	b = execute(b, noNew, tx.orderID, tx.d, tx.w)
	for i := range tx.lines[:tx.count] {
		l := &tx.lines[i]
		var place int
		b, place = noLine.AppendBind(b)
		for _, v := range [...]int{tx.orderID, tx.d, tx.w, i + 1, l.item, l.supply, l.quantity} {
			b = postgres.AppendInt(b, int32(v))
		}
		b = postgres.AppendDecimal(b, int64(l.quantity)*l.price)
		b = postgres.AppendText(b, l.info[:])
		b = postgres.AppendExecute(b, place)
	}
	return execute(b, commitTransaction)
}

// orderRow takes a row of the first round: the district, the warehouse, the customer,
// and of each line the item and the stock.
func (t *terminal) orderRow(r postgres.Row) error {
	tx := &t.tx
	at := tx.results - 4
	switch {
	case tx.round != 1 || at >= 2*tx.count || tx.results == 0:
		return errRows
	case tx.results == 1:
		tx.orderID = int(r.Int())
		r.Decimal(4)
	case tx.results == 2:
		r.Decimal(4)
	case tx.results == 3:
		r.Decimal(4)
		r.Value()
		r.Value()
	case at%2 == 0:
		l := &tx.lines[at/2]
		l.price = r.Decimal(2)
		r.Value()
		r.Value()
	default:
		copy(tx.lines[at/2].info[:], r.Value())
		r.Int()
		r.Value()
	}
	return r.End()
}
