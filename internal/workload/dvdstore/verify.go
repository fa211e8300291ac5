package dvdstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/postgres"
)

// count has the server count the calls of functions that a session makes.
const count = "SET track_functions = 'pl'"

// counted is how often each function was called, and since when the server runs.
func counted(ctx context.Context, s *postgres.Conn) (calls [functionsInAll]int64, since string, err error) {
	rows, err := s.Query(ctx, "SELECT 'since', pg_postmaster_start_time()::text UNION ALL SELECT funcname, calls::text FROM pg_stat_user_functions WHERE schemaname = 'public'")
	if err != nil {
		return calls, "", fmt.Errorf("read how often functions were called: %w", err)
	}
	for _, row := range rows {
		if row[0] == "since" {
			since = row[1]
		} else if k := slices.Index(functionNames[:], row[0]); k >= 0 {
			if calls[k], err = strconv.ParseInt(row[1], 10, 64); err != nil {
				return calls, since, fmt.Errorf("read how often %s was called: %w", row[0], err)
			}
		}
	}
	return calls, since, nil
}

// lastReports is how long the server may take to add up what its sessions did.
const lastReports = 5 * time.Second

// statistics holds the servers' counts against those of the load. A session hands over
// the last of its own when it ends.
func (t *tally) statistics(ctx context.Context, c conclusion) (measure.Check, error) {
	check := measure.Check{Name: "server's mix", State: measure.Unknown}
	if !counting(c.before) {
		check.Detail = "the user of the database may not have the server count calls of functions: GRANT SET ON PARAMETER track_functions there"
		return check, nil
	}
	for over := time.Now().Add(lastReports); ; {
		calls, same, err := c.calls(ctx)
		if err != nil {
			return check, err
		}
		if !same {
			check.Detail = "the server was started again meanwhile, and has forgotten what it counted"
			return check, nil
		}
		final := false // counts only grow
		for k, n := range calls {
			final = final || n > t.answered[k]+t.unknown(call(k))
		}
		if check = t.served(calls); check.State == measure.Pass || final || time.Now().After(over) {
			return check, nil
		}
		select {
		case <-ctx.Done():
			return check, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// calls are those that all servers together counted since the load began; same is
// false where one was started again.
func (c conclusion) calls(ctx context.Context) (all [functionsInAll]int64, same bool, err error) {
	now := make([]before, len(c.at))
	err = postgres.Each(ctx, c.at, func(ctx context.Context, number int, at postgres.Place) error {
		s, err := postgres.Dial(ctx, at, database)
		if err != nil {
			return fmt.Errorf("look at the data after the load: %w", err)
		}
		defer s.Close()
		now[number].calls, now[number].since, err = counted(ctx, s)
		return err
	})
	same = true
	for number, was := range c.before {
		same = same && now[number].since == was.since
		for k := range all {
			all[k] += now[number].calls[k] - was.calls[k]
		}
	}
	return all, same, err
}

// state is what the data counts.
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
	"pieces ordered anew", "reviews", "ratings", "members",
}

var sumQueries = []struct {
	sql string
	of  []int
}{
	{"SELECT count(*) FROM customers", []int{customerRowsThere}},
	{"SELECT count(*), coalesce(sum(netamount) * 100, 0)::bigint FROM orders", []int{orderRowsThere, orderedNet}},
	{"SELECT count(*), coalesce(sum(quantity), 0) FROM orderlines", []int{lineRowsThere, linePieces}},
	{"SELECT count(*) FROM cust_hist", []int{historyRowsThere}},
	{"SELECT coalesce(sum(quan_in_stock), 0), coalesce(sum(sales), 0) FROM inventory", []int{stockPieces, soldPieces}},
	{"SELECT coalesce(sum(quan_low), 0) FROM reorder", []int{restockedPieces}},
	{"SELECT count(*) FROM reviews", []int{reviewRowsThere}},
	{"SELECT count(*) FROM reviews_helpfulness", []int{ratingRowsThere}},
	{"SELECT count(*) FROM membership", []int{memberRowsThere}},
}

// enoughTime is how long it may take to look at the data.
const enoughTime = 30 * time.Second

// look takes down what the data counts; known is false where that takes too long.
func look(ctx context.Context, s *postgres.Conn) (now state, known bool, err error) {
	over := time.Now().Add(enoughTime)
	for _, q := range sumQueries {
		// The server keeps the time, so that it does not go on alone.
		rows, err := s.Query(ctx, fmt.Sprintf("SET statement_timeout = %d; %s", max(1, time.Until(over).Milliseconds()), q.sql))
		if postgres.Canceled(err) {
			return now, false, nil
		}
		if err != nil {
			return now, false, fmt.Errorf("look at the data of dvdstore: %w", err)
		}
		for n, k := range q.of {
			if now[k], err = strconv.ParseInt(rows[0][n], 10, 64); err != nil {
				return now, false, fmt.Errorf("count the %s: %w", sumNames[k], err)
			}
		}
	}
	return now, true, s.Exec(ctx, "SET statement_timeout = 0")
}

// growth is what a count must have grown by.
type growth struct {
	sum           int
	lowest, added int64 // added may be there besides, of calls that were not answered
}

// growths are what the counts must have grown by, from what the load was told.
func (t *tally) growths(d *store) []growth {
	orders := t.answered[callPurchase]
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

// kept holds how much the data has grown against what the load was told.
func (t *tally) kept(d *store, grown state) measure.Check {
	c := measure.Check{Name: "data", State: measure.Pass}
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
		wrong = append(wrong, fmt.Sprintf("the stock changed by %d, though %d were ordered anew and %d sold", grown[stockPieces], grown[restockedPieces], grown[soldPieces]))
	}
	if len(wrong) > 0 {
		c.State, c.Detail = measure.Fail, strings.Join(wrong, "; ")
	}
	return c
}
