package dvdstore

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// undo takes back what a load did on MariaDB, which takes as long as it took to do, however
// much data there is: rows that were added go, the stock is filled in again, and numbers
// begin where they began. It finds added rows by their numbers, which are above those of
// the first data, and memberships by their year.
func (d *store) undo(seed uint64) []dataset.Job {
	z := d.size()
	orders := z.orders * months
	all := []dataset.Job{
		dataset.SQL("history", fmt.Sprintf("DELETE h FROM orders o STRAIGHT_JOIN cust_hist h ON h.customerid = o.customerid AND h.orderid = o.orderid WHERE o.orderid > %d", orders)),
		dataset.SQL("order lines", fmt.Sprintf("DELETE FROM orderlines WHERE orderid > %d", orders)),
		dataset.SQL("membership", fmt.Sprintf("DELETE FROM membership WHERE year(expiredate) > %d", firstYear)),
	}
	for _, n := range z.numbered() {
		all = append(all, dataset.SQL(n.table, fmt.Sprintf("DELETE FROM %s WHERE %s > %d; %s", n.table, n.column, n.last, n.from(engine.MariaDB))))
	}
	all = append(all, dataset.SQL("reorder", "TRUNCATE TABLE reorder; TRUNCATE TABLE inventory"))
	for _, t := range filled {
		if t.name == "inventory" {
			all = append(all, d.pieces(t, seed)...)
		}
	}
	return append(all, dataset.Job{Label: "what is there", Do: d.begins})
}

// begins looks whether the data is what each trial is to begin with, as far as the numbers
// of rows tell, and where it does not take too long to look.
func (d *store) begins(ctx context.Context, s engine.Conn) error {
	if err := engine.Limit(ctx, s, dataset.EnoughTime); err != nil {
		return err
	}
	rows, err := s.Query(ctx, "SELECT (SELECT count(*) FROM customers), (SELECT count(*) FROM orders), (SELECT count(*) FROM reviews), "+
		"(SELECT count(*) FROM orderlines) - (SELECT count(*) FROM cust_hist)")
	if engine.Canceled(err) {
		return engine.Limit(ctx, s, 0)
	}
	if err != nil {
		return fmt.Errorf("count the rows: %w", err)
	}
	z := d.size()
	for k, want := range []int{z.customers, z.orders * months, z.allReviews(), 0} {
		if got := rows[0][k]; got != strconv.Itoa(want) {
			what := [...]string{"customers", "orders", "reviews", "more order lines than lines of the customers' history"}[k]
			return fmt.Errorf("%w: there are %s %s instead of %d", dataset.ErrSpoilt, got, what, want)
		}
	}
	return engine.Limit(ctx, s, 0)
}
