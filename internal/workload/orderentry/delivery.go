package orderentry

import "plimsoll/internal/postgres"

// askDelivery delivers the oldest order of each district (clause 2.7): all ten in one
// transaction.
func (t *terminal) askDelivery(b []byte) []byte {
	tx := &t.tx
	if tx.round == 1 {
		tx.found = [districts]bool{}
		b = execute(b, dyTurn, tx.w)
		for d := 1; d <= districts; d++ {
			b = execute(b, dyOldest, tx.w, d)
		}
		return b
	}
	for d, found := range tx.found {
		switch {
		case !found:
		case tx.round == 2:
			b = execute(b, dyOrder, tx.w, d+1, tx.orders[d], tx.carrier)
			b = execute(b, dyLines, tx.w, d+1, tx.orders[d])
		default:
			var place int
			b, place = dyCustomer.AppendBind(b)
			for _, v := range [...]int{tx.w, d + 1, tx.customers[d]} {
				b = postgres.AppendInt(b, int32(v))
			}
			b = postgres.AppendDecimal(b, tx.sums[d])
			b = postgres.AppendExecute(b, place)
		}
	}
	if tx.round == 3 || tx.found == ([districts]bool{}) {
		b = execute(b, commitTransaction)
	}
	return b
}

// deliveryRow takes the orders, and then of each its customer and its sum.
func (t *terminal) deliveryRow(r postgres.Row) error {
	tx := &t.tx
	switch {
	case tx.round == 1 && tx.results == 1:
		r.Value() // its turn has come
	case tx.round == 1 && tx.results >= 2 && tx.results < 2+districts:
		d := tx.results - 2
		tx.orders[d], tx.found[d] = int(r.Int()), true
	case tx.round == 2 && tx.results < 2*districts:
		d := tx.nth(tx.results / 2)
		if tx.results%2 == 0 {
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
