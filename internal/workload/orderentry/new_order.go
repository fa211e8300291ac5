package orderentry

import (
	"cmp"
	"slices"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// drawOrder draws a new order (clause 2.4.1). Its lines are sorted by item, so that
// two of them never wait for each other.
func (t *terminal) drawOrder() {
	tx := &t.tx
	tx.customer = t.source.customer(t.z)
	tx.count = t.source.between(5, 15)
	for i := range tx.lines[:tx.count] {
		l := orderLine{item: t.source.item(t.z), supply: tx.w, quantity: t.source.between(1, 10)}
		if t.z.warehouses > 1 && t.source.chance(1) {
			l.supply, tx.remote = t.other(tx.w), true
			t.tally.remoteLines++
		}
		tx.lines[i] = l
	}
	if tx.invalid = t.source.chance(1); tx.invalid {
		tx.lines[tx.count-1].item = t.z.items + 1
	}
	slices.SortStableFunc(tx.lines[:tx.count], byItem)
	t.tally.orders++
	t.tally.lines += int64(tx.count)
	if tx.invalid {
		t.tally.invalid++
	}
}

// other draws a warehouse that is not the given one.
func (t *terminal) other(w int) int {
	o := t.source.between(1, t.z.warehouses-1)
	if o >= w {
		o++
	}
	return o
}

func byItem(a, b orderLine) int {
	return cmp.Or(cmp.Compare(a.item, b.item), cmp.Compare(a.supply, b.supply))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (t *terminal) askOrder(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	tx := &t.tx
	w, d, customer := engine.Int(tx.w), engine.Int(tx.d), engine.Int(tx.customer)
	if turn.Round == 1 {
		b = t.Append(b, noWarehouse, w) // before the district, as a payment does
		b = t.Append(b, noDistrict, w, d)
		b = t.Append(b, noCustomer, w, d, customer)
		for i := range tx.lines[:tx.count] {
			l := &tx.lines[i]
			l.price = -1 // until the item is found
			b = t.Append(b, noItem, engine.Int(l.item))
			b = t.Append(b, noStock, engine.Int(l.supply), engine.Int(l.item), d, engine.Int(l.quantity), engine.Int(truth(l.supply != tx.w)))
		}
		return b, dialogue.Another
	}
	for i := range tx.lines[:tx.count] {
		tx.missed = tx.missed || tx.lines[i].price < 0
	}
	if tx.missed {
		return b, dialogue.Rollback
	}
	id := engine.Int(tx.orderID)
	b = t.Append(b, noOrder, id, d, w, customer, engine.Int(tx.count), engine.Int(truth(!tx.remote)))
	b = t.Append(b, noNew, id, d, w)
	for i := range tx.lines[:tx.count] {
		l := &tx.lines[i]
		b = t.Append(b, noLine, id, d, w, engine.Int(i+1), engine.Int(l.item), engine.Int(l.supply), engine.Int(l.quantity),
			engine.Decimal(int64(l.quantity)*l.price), engine.Text(l.info[:]))
	}
	return b, dialogue.Commit
}

// orderRow takes a row of the first round: the warehouse, the district, the customer,
// and of each line the item and the stock.
func (t *terminal) orderRow(turn dialogue.Turn, r *engine.Row) error {
	tx := &t.tx
	at := turn.Results - 4
	switch {
	case turn.Round != 1 || at >= 2*tx.count || turn.Results == 0:
		return errRows
	case turn.Results == 1:
		r.Decimal(4)
	case turn.Results == 2:
		tx.orderID = int(r.Int())
		r.Decimal(4)
	case turn.Results == 3:
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
