package brokerage

import (
	"fmt"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
)

// tally counts the requests of a connection and their outcomes, over the whole load.
type tally struct {
	engine.Count
	// Drawn.
	drawn                              [kinds]int64
	orders, market, sell, lifo, margin int64
	named, rolled, first, third        int64 // first and third are of the customers' tiers
	frames                             [frames]int64
	positions, byTax, histories        int64
	lists, industries                  int64
	done                               [kinds]int64
	placed, rolledBack, hits           int64 // hits are limit orders that a price reached
}

func (t *tally) order(o *orderState, tier int) {
	t.orders++
	for _, c := range []struct {
		count *int64
		is    bool
	}{
		{&t.market, o.orderRequest.order.market()}, {&t.sell, o.orderRequest.order.sells()}, {&t.lifo, o.lifo}, {&t.margin, o.margin},
		{&t.named, o.byName}, {&t.rolled, o.rolled}, {&t.first, tier == 1}, {&t.third, tier == 3},
	} {
		if c.is {
			*c.count++
		}
	}
}

func (t *tally) position(v *viewState) {
	t.positions++
	if v.byTax {
		t.byTax++
	}
	if v.history {
		t.histories++
	}
}

func (t *tally) add(o *tally) {
	t.Count.Add(o.Count)
	for _, c := range []struct {
		to   *int64
		from int64
	}{
		{&t.orders, o.orders}, {&t.market, o.market}, {&t.sell, o.sell}, {&t.lifo, o.lifo}, {&t.margin, o.margin},
		{&t.named, o.named}, {&t.rolled, o.rolled}, {&t.first, o.first}, {&t.third, o.third},
		{&t.positions, o.positions}, {&t.byTax, o.byTax}, {&t.histories, o.histories}, {&t.lists, o.lists},
		{&t.industries, o.industries}, {&t.placed, o.placed}, {&t.rolledBack, o.rolledBack}, {&t.hits, o.hits},
	} {
		*c.to += c.from
	}
	for k := range t.drawn {
		t.drawn[k] += o.drawn[k]
		t.done[k] += o.done[k]
	}
	for f := range t.frames {
		t.frames[f] += o.frames[f]
	}
}

// all is how many transactions were done.
func (t *tally) all() (n int64) {
	for _, d := range t.done {
		n += d
	}
	return n
}

// shares are the self-check of the draws.
func (t *tally) shares() []measure.Share {
	var all, looked int64
	for _, n := range t.drawn {
		all += n
	}
	for _, n := range t.frames {
		looked += n
	}
	share := func(what string, count, of int64, want float64) measure.Share {
		return measure.Share{What: what, Count: count, Of: of, Low: want, High: want}
	}
	of := func(k int) float64 { return float64(mix[k]) / mixSum }
	return []measure.Share{
		share("trade orders and results", t.drawn[tradeOrder]+t.drawn[tradeResult], all, of(tradeOrder)+of(tradeResult)),
		share("trade lookups", t.drawn[tradeLookup], all, of(tradeLookup)),
		share("trade status", t.drawn[tradeStatus], all, of(tradeStatus)),
		share("market feeds", t.drawn[marketFeed], all, of(marketFeed)),
		share("customer positions", t.drawn[customerPosition], all, of(customerPosition)),
		share("market watches", t.drawn[marketWatch], all, of(marketWatch)),
		share("orders at the market", t.market, t.orders, marketShare/100.),
		share("sales", t.sell, t.orders, sellShare/100.),
		share("last in first out", t.lifo, t.orders, lifoShare/100.),
		share("on margin", t.margin, t.orders, marginShare/100.),
		share("securities by name", t.named, t.orders, nameShare/100.),
		share("orders rolled back", t.rolled, t.orders, rolledShare/100.),
		share("orders of tier 1", t.first, t.orders, .1),
		share("orders of tier 3", t.third, t.orders, .3),
		share("lookups by number", t.frames[byNumber], looked, .3),
		share("lookups of a holding", t.frames[ofHolding], looked, .1),
		share("positions by tax identity", t.byTax, t.positions, taxShare/100.),
		share("positions with a history", t.histories, t.positions, historyShare/100.),
		share("watches of a list", t.lists, t.drawn[marketWatch], listShare/100.),
		share("watches of an industry", t.industries, t.drawn[marketWatch], industryShare/100.),
	}
}

// check is the distribution of the draws, as a check of the record.
func (t *tally) check() measure.Check {
	c := measure.Distribution(t.shares())
	if t.orders == 0 && c.State == measure.Pass {
		c.State = measure.Unknown
	}
	return c
}

// counted compares the client's trades with the server's, by status. A trade whose response
// was lost may exist or not.
func (t *tally) counted(now, before stock) measure.Check {
	placed, results := now.placed-before.placed, now.completed-before.completed
	lostOrders, lostResults := t.drawn[tradeOrder]-t.placed-t.rolledBack, t.drawn[tradeResult]-t.done[tradeResult]
	c := measure.Check{
		Name: "trades", Kind: measure.KindData, State: measure.Pass,
		Detail: fmt.Sprintf("the load placed %d trades and completed %d, the database has %d and %d more; of %d and %d more the answer is not known",
			t.placed, t.done[tradeResult], placed, results, lostOrders, lostResults),
	}
	if placed < t.placed || placed > t.placed+lostOrders || results < t.done[tradeResult] || results > t.done[tradeResult]+lostResults {
		c.State = measure.Fail
	}
	return c
}

// sum adds up the tallies of all connections.
func sum(l *load.Ledger[tally]) (all tally) {
	for _, t := range l.Sheets() {
		all.add(t)
	}
	return all
}
