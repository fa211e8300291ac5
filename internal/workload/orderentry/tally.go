package orderentry

import (
	"fmt"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
)

// tally counts the requests of a connection and their outcomes, over the whole load.
type tally struct {
	engine.Count
	// Drawn.
	orders, lines, remoteLines, invalid int64
	payments, remotePayments            int64
	due                                 int64 // hundredths, of the payments
	looked, byName                      int64 // customers
	deliveries                          int64
	// Done.
	done    [kinds]int64
	placed  int64 // orders that were committed
	rolled  int64 // and that were rolled back because an item does not exist
	paid    int64 // hundredths
	skipped int64 // districts that had nothing to deliver
	shipped int64
}

// completed counts a transaction that ended as it should.
func (t *tally) completed(k kind, tx *transaction) {
	t.done[k]++
	switch {
	case k == newOrder && tx.missed:
		t.rolled++
	case k == newOrder:
		t.placed++
	case k == payment:
		t.paid += tx.amount
	case k == delivery:
		for _, found := range tx.found {
			if found {
				t.shipped++
			} else {
				t.skipped++
			}
		}
	}
}

func (t *tally) add(o *tally) {
	t.Count.Add(o.Count)
	t.orders += o.orders
	t.lines += o.lines
	t.remoteLines += o.remoteLines
	t.invalid += o.invalid
	t.payments += o.payments
	t.remotePayments += o.remotePayments
	t.due += o.due
	t.looked += o.looked
	t.byName += o.byName
	t.deliveries += o.deliveries
	for k := range t.done {
		t.done[k] += o.done[k]
	}
	t.placed += o.placed
	t.rolled += o.rolled
	t.paid += o.paid
	t.skipped += o.skipped
	t.shipped += o.shipped
}

// shares are the self-check of clause 5.2.5 and the like.
func (t *tally) shares(warehouses int) []measure.Share {
	var all int64
	for _, n := range t.done {
		all += n
	}
	list := []measure.Share{
		{What: "orders that are rolled back", Count: t.invalid, Of: t.orders, Low: .009, High: .011},
		{What: "customers by last name", Count: t.byName, Of: t.looked, Low: .57, High: .63},
		{What: "payments", Count: t.done[payment], Of: all, Low: .425, High: .435},
		{What: "order status", Count: t.done[orderStatus], Of: all, Low: .0375, High: .0425},
		{What: "deliveries", Count: t.done[delivery], Of: all, Low: .0375, High: .0425},
		{What: "stock levels", Count: t.done[stockLevel], Of: all, Low: .0375, High: .0425},
	}
	if warehouses > 1 {
		list = append(list,
			measure.Share{What: "lines from another warehouse", Count: t.remoteLines, Of: t.lines, Low: .0095, High: .0105},
			measure.Share{What: "payments of another warehouse's customers", Count: t.remotePayments, Of: t.payments, Low: .14, High: .16})
	}
	return list
}

// check is the distribution of what was drawn, as a check of the record.
func (t *tally) check(warehouses int) measure.Check {
	c := measure.Distribution(t.shares(warehouses))
	mean := float64(t.lines) / float64(max(1, t.orders))
	slack := measure.Chance((11*11-1)/12., t.orders) // of eleven numbers of lines, all alike
	if mean < 9.5-slack || mean > 10.5+slack {
		c.State = measure.Fail
	}
	c.Detail = fmt.Sprintf("%.2f lines per order (9.5 to 10.5); %s", mean, c.Detail)
	if t.orders == 0 {
		c.State = measure.Unknown
	}
	return c
}

// ordered holds the new orders of the client against those of the districts. One whose
// answer was lost may be there or not.
func (t *tally) ordered(district int64) measure.Check {
	lost := t.orders - t.placed - t.rolled
	c := measure.Check{
		Name: "new orders", Kind: measure.KindData, State: measure.Pass,
		Detail: fmt.Sprintf("the load placed %d, the districts count %d; of %d more the answer is not known", t.placed, district, lost),
	}
	if district < t.placed || district > t.placed+lost {
		c.State = measure.Fail
	}
	return c
}

// settled does the same for what was paid, in hundredths.
func (t *tally) settled(district int64) measure.Check {
	amount := func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/100) }
	c := measure.Check{
		Name: "payments", Kind: measure.KindData, State: measure.Pass,
		Detail: fmt.Sprintf("the load paid %s, the districts count %s; of %s more the answer is not known", amount(t.paid), amount(district), amount(t.due-t.paid)),
	}
	if district < t.paid || district > t.due {
		c.State = measure.Fail
	}
	return c
}

// delivered does the same for the orders that were delivered: those without a row of
// NEW_ORDER. A delivery whose answer was lost delivered one of each district at most.
func (t *tally) delivered(n int64) measure.Check {
	lost := districts * (t.deliveries - t.done[delivery])
	c := measure.Check{
		Name: "deliveries", Kind: measure.KindData, State: measure.Pass,
		Detail: fmt.Sprintf("the load delivered %d orders, the database has %d more without a row of NEW_ORDER; of up to %d more the answer is not known", t.shipped, n, lost),
	}
	if n < t.shipped || n > t.shipped+lost {
		c.State = measure.Fail
	}
	return c
}
