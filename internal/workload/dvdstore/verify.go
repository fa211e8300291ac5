package dvdstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// state holds counts over the data.
type state [sums]int64

const (
	customerRowsThere = iota
	orderRowsThere
	orderedNet // hundredths
	lineRowsThere
	linePieces
	historyRowsThere
	stockPieces
	soldPieces
	restockedPieces
	reviewRowsThere
	ratingRowsThere
	memberRowsThere
	sums
)

var sumNames = [sums]string{
	"customers", "orders", "what the orders cost", "order lines", "pieces of the order lines", "lines of the customers' history", "pieces in stock", "pieces sold",
	"pieces reordered", "reviews", "ratings", "members",
}

// sumQueries count all but the first reviews and ratings, which are most of the data.
var sumQueries = []struct {
	sql string
	of  []int
}{
	{"SELECT count(*) FROM customers", []int{customerRowsThere}},
	{"SELECT count(*), cast(coalesce(sum(netamount), 0) * 100 AS decimal(20, 0)) FROM orders", []int{orderRowsThere, orderedNet}},
	{"SELECT count(*), coalesce(sum(quantity), 0) FROM orderlines", []int{lineRowsThere, linePieces}},
	{"SELECT count(*) FROM cust_hist", []int{historyRowsThere}},
	{"SELECT coalesce(sum(quan_in_stock), 0), coalesce(sum(sales), 0) FROM inventory", []int{stockPieces, soldPieces}},
	{"SELECT coalesce(sum(quan_low), 0) FROM reorder", []int{restockedPieces}},
	{"SELECT count(*) FROM reviews WHERE review_id > REVIEWS", []int{reviewRowsThere}},
	{"SELECT count(*) FROM reviews_helpfulness WHERE review_helpfulness_id > RATINGS", []int{ratingRowsThere}},
	{"SELECT count(*) FROM membership", []int{memberRowsThere}},
}

// look counts the data; nil where that takes too long.
func (z size) look(ctx context.Context, s engine.Conn) (*state, error) {
	var now state
	first := strings.NewReplacer("REVIEWS", strconv.Itoa(z.allReviews()), "RATINGS", strconv.Itoa(z.ratings()))
	over := time.Now().Add(dataset.EnoughTime)
	for _, q := range sumQueries {
		if err := engine.Limit(ctx, s, max(time.Millisecond, time.Until(over))); err != nil {
			return nil, err
		}
		rows, err := s.Query(ctx, first.Replace(q.sql))
		if engine.Canceled(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("inspect the data of dvdstore: %w", err)
		}
		for n, k := range q.of {
			if now[k], err = strconv.ParseInt(rows[0][n], 10, 64); err != nil {
				return nil, fmt.Errorf("count the %s: %w", sumNames[k], err)
			}
		}
	}
	return &now, engine.Limit(ctx, s, 0)
}

// growth is the range of a count's growth.
type growth struct {
	sum           int
	lowest, added int64 // added may be there besides, of calls that were not answered
}

// growths are the expected growths of the counts, from the responses.
func (t *tally) growths(d *store) []growth {
	orders := t.answered[callPurchase] - t.undone
	all := []growth{
		{customerRowsThere, t.customers, t.unknown(callNewCustomer)},
		{orderRowsThere, orders, t.unknown(callPurchase)},
		{orderedNet, t.net, t.pendingNet},
		{lineRowsThere, t.lines, t.pending},
		{linePieces, t.pieces, t.pendingPieces},
		{historyRowsThere, t.lines, t.pending},
		{reviewRowsThere, t.answered[callNewReview], t.unknown(callNewReview)},
		{ratingRowsThere, t.answered[callRate], t.unknown(callRate)},
		{memberRowsThere, t.members, t.unknown(callNewMember)},
	}
	if !d.faithful() {
		all = append(all, growth{soldPieces, t.pieces, t.pendingPieces})
	}
	return all
}

// kept compares the growth of the data with the responses.
func (t *tally) kept(d *store, grown state) measure.Check {
	c := measure.Check{Name: "data", Kind: measure.KindData, State: measure.Pass}
	var wrong []string
	for _, g := range t.growths(d) {
		if n := grown[g.sum]; n < g.lowest || n > g.lowest+g.added {
			wrong = append(wrong, fmt.Sprintf("%s grew by %d instead of %d", sumNames[g.sum], n, g.lowest))
		}
	}
	c.Detail = fmt.Sprintf("rows and sums are what the load was told: %d orders of %d pieces, %d customers, %d reviews, %d ratings",
		grown[orderRowsThere], grown[linePieces], grown[customerRowsThere], grown[reviewRowsThere], grown[ratingRowsThere])
	if lost := t.unknown(callPurchase); lost > 0 {
		c.Detail += fmt.Sprintf("; of %d more purchases the answer is not known", lost)
	}
	if d.faithful() {
		c.Detail += fmt.Sprintf("; the inventory counts %d of %d pieces sold, since faithful purchases overwrite each other", grown[soldPieces], grown[linePieces])
	} else if grown[stockPieces] != grown[restockedPieces]-grown[soldPieces] {
		wrong = append(wrong, fmt.Sprintf("the stock changed by %d, though %d were reordered and %d sold", grown[stockPieces], grown[restockedPieces], grown[soldPieces]))
	}
	if len(wrong) > 0 {
		c.State, c.Detail = measure.Fail, strings.Join(wrong, "; ")
	}
	return c
}
