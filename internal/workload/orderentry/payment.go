package orderentry

import "plimsoll/internal/postgres"

// drawPayment draws a payment (clause 2.5.1).
func (t *terminal) drawPayment() {
	tx := &t.tx
	tx.cw, tx.cd = tx.w, tx.d
	if t.z.warehouses > 1 && t.chance(15) {
		tx.cw, tx.cd = t.other(tx.w), t.between(1, districts)
		t.tally.remotePayments++
	}
	t.tally.payments++
	t.drawCustomer()
	tx.amount = int64(t.between(100, 500_000))
}

// drawCustomer draws a customer by last name in 60 of a hundred cases, else by number.
func (t *terminal) drawCustomer() {
	tx := &t.tx
	t.tally.looked++
	if tx.byName = t.chance(60); tx.byName {
		t.tally.byName++
		tx.nameLength = len(appendLast(tx.name[:0], t.lastNumber(t.z, lastRunning)))
		return
	}
	tx.customer = t.source.customer(t.z)
}

func (t *terminal) askName(b []byte) []byte {
	tx := &t.tx
	b, place := byName.AppendBind(b)
	b = postgres.AppendInt(b, int32(tx.cw))
	b = postgres.AppendInt(b, int32(tx.cd))
	b = postgres.AppendText(b, tx.name[:tx.nameLength])
	return postgres.AppendExecute(b, place)
}

// named takes a customer with the name.
func (tx *transaction) named(r postgres.Row) error {
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

func (t *terminal) askPayment(b []byte) []byte {
	tx := &t.tx
	if tx.round == 1 {
		var place int
		b, place = pyWarehouse.AppendBind(b)
		b = postgres.AppendInt(b, int32(tx.w))
		b = postgres.AppendExecute(postgres.AppendDecimal(b, tx.amount), place)
		b, place = pyDistrict.AppendBind(b)
		b = postgres.AppendInt(postgres.AppendInt(b, int32(tx.w)), int32(tx.d))
		b = postgres.AppendExecute(postgres.AppendDecimal(b, tx.amount), place)
		if tx.byName {
			b = t.askName(b)
		}
		return b
	}
	tx.choose()
	b, place := pyCustomer.AppendBind(b)
	for _, v := range [...]int{tx.cw, tx.cd, tx.customer} {
		b = postgres.AppendInt(b, int32(v))
	}
	b = postgres.AppendDecimal(b, tx.amount)
	b = postgres.AppendInt(postgres.AppendInt(b, int32(tx.d)), int32(tx.w))
	b = postgres.AppendExecute(b, place)
	b, place = pyHistory.AppendBind(b)
	for _, v := range [...]int{tx.customer, tx.cd, tx.cw, tx.d, tx.w} {
		b = postgres.AppendInt(b, int32(v))
	}
	b = postgres.AppendDecimal(b, tx.amount)
	b = postgres.AppendText(b, tx.label[:tx.labelLength])
	b = postgres.AppendExecute(b, place)
	return execute(b, commitTransaction)
}

// paymentRow takes the warehouse, the district and the customers with the name, then
// the customer.
func (t *terminal) paymentRow(r postgres.Row) error {
	tx := &t.tx
	switch {
	case tx.round == 1 && tx.results == 1:
		tx.labelLength = copy(tx.label[:10], r.Value())
	case tx.round == 1 && tx.results == 2:
		tx.labelLength += copy(tx.label[tx.labelLength:], "    ")
		tx.labelLength += copy(tx.label[tx.labelLength:], r.Value())
	case tx.round == 1 && tx.results == 3 && tx.byName:
		return tx.named(r)
	case tx.round != 2 || tx.results != 0:
		return errRows
	}
	for r.More() {
		r.Value()
	}
	return r.End()
}
