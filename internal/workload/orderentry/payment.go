package orderentry

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// drawPayment draws a payment (clause 2.5.1).
func (t *terminal) drawPayment() {
	tx := &t.tx
	tx.cw, tx.cd = tx.w, tx.d
	if t.z.warehouses > 1 && t.source.chance(15) {
		tx.cw, tx.cd = t.other(tx.w), t.source.between(1, districts)
		t.tally.remotePayments++
	}
	t.tally.payments++
	t.drawCustomer()
	tx.amount = int64(t.source.between(100, 500_000))
	t.tally.due += tx.amount
}

// drawCustomer draws a customer by last name in 60 of a hundred cases, else by number.
func (t *terminal) drawCustomer() {
	tx := &t.tx
	t.tally.looked++
	if tx.byName = t.source.chance(60); tx.byName {
		t.tally.byName++
		tx.nameLength = len(appendLast(tx.name[:0], t.source.lastNumber(t.z, lastRunning)))
		return
	}
	tx.customer = t.source.customer(t.z)
}

func (t *terminal) askName(b []byte) []byte {
	tx := &t.tx
	return t.Append(b, byName, engine.Int(tx.cw), engine.Int(tx.cd), engine.Text(tx.name[:tx.nameLength]))
}

// named takes a customer with the name.
func (tx *transaction) named(r *engine.Row) error {
	id := int(r.Int())
	if tx.idCount < len(tx.ids) {
		tx.ids[tx.idCount] = id
	}
	tx.idCount++
	return r.End()
}

// choose takes the one in the middle of those with the name, in the order of their
// first names.
func (tx *transaction) choose() {
	if tx.byName {
		tx.customer = tx.ids[min(max(0, (tx.idCount+1)/2-1), len(tx.ids)-1)]
	}
}

func (t *terminal) askPayment(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	tx := &t.tx
	w, d, amount := engine.Int(tx.w), engine.Int(tx.d), engine.Decimal(tx.amount)
	if turn.Round == 1 {
		b = t.Append(b, pyWarehouse, w, amount)
		b = t.Append(b, pyDistrict, w, d, amount)
		if tx.byName {
			b = t.askName(b)
		}
		return b, dialogue.Another
	}
	tx.choose()
	cw, cd, customer := engine.Int(tx.cw), engine.Int(tx.cd), engine.Int(tx.customer)
	b = t.Append(b, pyCustomer, cw, cd, customer, amount, d, w)
	b = t.Append(b, pyHistory, customer, cd, cw, d, w, amount, engine.Text(tx.label[:tx.labelLength]))
	return b, dialogue.Commit
}

// paymentRow takes the warehouse, the district and the customers with the name, then
// the customer.
func (t *terminal) paymentRow(turn dialogue.Turn, r *engine.Row) error {
	tx := &t.tx
	switch {
	case turn.Round == 1 && turn.Results == 1:
		tx.labelLength = copy(tx.label[:10], r.Value())
	case turn.Round == 1 && turn.Results == 2:
		tx.labelLength += copy(tx.label[tx.labelLength:], "    ")
		tx.labelLength += copy(tx.label[tx.labelLength:], r.Value())
	case turn.Round == 1 && turn.Results == 3 && tx.byName:
		return tx.named(r)
	case turn.Round != 2 || turn.Results != 0:
		return errRows
	}
	return r.Rest()
}
