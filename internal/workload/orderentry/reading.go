package orderentry

import "plimsoll/internal/postgres"

// statusRound is how far an order status is: 0 the customers with the name, 1 the
// customer and the last order, 2 its lines.
func (tx *transaction) statusRound() int {
	if tx.byName {
		return tx.round - 1
	}
	return tx.round
}

func (t *terminal) askStatus(b []byte) []byte {
	tx := &t.tx
	switch tx.statusRound() {
	case 0:
		return t.askName(b)
	case 1:
		tx.choose()
		tx.orderID = 0
		b = execute(b, osCustomer, tx.w, tx.d, tx.customer)
		return execute(b, osOrder, tx.w, tx.d, tx.customer)
	}
	b = execute(b, osLines, tx.w, tx.d, tx.orderID)
	return execute(b, commitTransaction)
}

func (t *terminal) statusRow(r postgres.Row) error {
	tx := &t.tx
	step := tx.statusRound()
	if step == 0 {
		return tx.named(r)
	}
	if tx.round == 1 && tx.results == 2 || tx.round == 2 && step == 1 && tx.results == 1 {
		tx.orderID = int(r.Int())
	}
	for r.More() {
		r.Value()
	}
	return r.End()
}

func (t *terminal) askStock(b []byte) []byte {
	tx := &t.tx
	if tx.round == 1 {
		return execute(b, slDistrict, tx.w, tx.d)
	}
	b = execute(b, slCount, tx.w, tx.d, tx.orderID, tx.threshold)
	return execute(b, commitTransaction)
}

// stockRow takes the number of the next order, and then how many items run low.
func (t *terminal) stockRow(r postgres.Row) error {
	n := int(r.Int())
	if t.tx.round == 1 {
		t.tx.orderID = n
	}
	return r.End()
}
