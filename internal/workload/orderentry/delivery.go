package orderentry

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// askDelivery delivers the oldest order of each district (clause 2.7): all ten in one
// transaction.
func (t *terminal) askDelivery(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	tx := &t.tx
	w := engine.Int(tx.w)
	if turn.Round == 1 {
		tx.found = [districts]bool{}
		b = t.Append(b, dyTurn, w)
		for d := 1; d <= districts; d++ {
			b = t.Append(b, dyOldest, w, engine.Int(d))
		}
		return b, dialogue.Another
	}
	for i, found := range tx.found {
		d, order := engine.Int(i+1), engine.Int(tx.orders[i])
		switch {
		case !found:
		case turn.Round == 2:
			b = t.Append(b, dyOrder, w, d, order, engine.Int(tx.carrier))
			b = t.Append(b, dyLines, w, d, order)
		default:
			b = t.Append(b, dyCustomer, w, d, engine.Int(tx.customers[i]), engine.Decimal(tx.sums[i]))
		}
	}
	if turn.Round == 3 || tx.found == ([districts]bool{}) {
		return b, dialogue.Commit
	}
	return b, dialogue.Another
}

// deliveryRow takes the orders, and then of each its customer and its sum.
func (t *terminal) deliveryRow(turn dialogue.Turn, r *engine.Row) error {
	tx := &t.tx
	switch {
	case turn.Round == 1 && turn.Results == 1:
		r.Value() // its turn has come
	case turn.Round == 1 && turn.Results >= 2 && turn.Results < 2+districts:
		d := turn.Results - 2
		tx.orders[d], tx.found[d] = int(r.Int()), true
	case turn.Round == 2 && turn.Results < 2*districts:
		d := tx.nth(turn.Results / 2)
		if turn.Results%2 == 0 {
			tx.customers[d] = int(r.Int())
		} else {
			tx.sums[d] = r.Decimal(2)
		}
	default:
		return errRows
	}
	return r.End()
}

// nth is the index of the district of the order number n that was found.
func (tx *transaction) nth(n int) int {
	for d, found := range tx.found {
		if found {
			if n == 0 {
				return d
			}
			n--
		}
	}
	return 0
}
