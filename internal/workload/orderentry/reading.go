package orderentry

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// statusRound is how far an order status is: 0 the customers with the name, 1 the
// customer and the last order, 2 its lines.
func (tx *transaction) statusRound(turn dialogue.Turn) int {
	if tx.byName {
		return turn.Round - 1
	}
	return turn.Round
}

func (t *terminal) askStatus(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	tx := &t.tx
	w, d := engine.Int(tx.w), engine.Int(tx.d)
	switch tx.statusRound(turn) {
	case 0:
		return t.askName(b), dialogue.Another
	case 1:
		tx.choose()
		tx.orderID = 0
		customer := engine.Int(tx.customer)
		return t.Append(t.Append(b, osCustomer, w, d, customer), osOrder, w, d, customer), dialogue.Another
	}
	return t.Append(b, osLines, w, d, engine.Int(tx.orderID)), dialogue.Commit
}

func (t *terminal) statusRow(turn dialogue.Turn, r *engine.Row) error {
	tx := &t.tx
	step := tx.statusRound(turn)
	if step == 0 {
		return tx.named(r)
	}
	if turn.Round == 1 && turn.Results == 2 || turn.Round == 2 && step == 1 && turn.Results == 1 {
		tx.orderID = int(r.Int())
	}
	return r.Rest()
}

func (t *terminal) askStock(b []byte, turn dialogue.Turn) ([]byte, dialogue.Step) {
	tx := &t.tx
	w, d := engine.Int(tx.w), engine.Int(tx.d)
	if turn.Round == 1 {
		return t.Append(b, slDistrict, w, d), dialogue.Another
	}
	return t.Append(b, slCount, w, d, engine.Int(tx.orderID), engine.Int(tx.threshold)), dialogue.Commit
}

// stockRow takes the number of the next order, and then how many items run low.
func (t *terminal) stockRow(turn dialogue.Turn, r *engine.Row) error {
	n := int(r.Int())
	if turn.Round == 1 {
		t.tx.orderID = n
	}
	return r.End()
}
