package orderentry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/postgres"
)

// conditions are those of consistency of clause 3.3.2, by their number there. Each
// query counts what breaks it.
var conditions = []struct {
	number int
	what   string
	sql    string
}{
	{1, "a warehouse's sum is that of its districts", `SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)`},
	{2, "the next order of a district follows its last", `SELECT count(*) FROM district WHERE
		d_next_o_id - 1 <> (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) OR
		d_next_o_id - 1 <> (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)`},
	{3, "no new order is left out", `SELECT count(*) FROM (SELECT 1 FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS broken`},
	{4, "a district has the lines that its orders have", `SELECT count(*) FROM (SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS lines FROM orders GROUP BY 1, 2) AS o
		FULL JOIN (SELECT ol_w_id AS w, ol_d_id AS d, count(*) AS lines FROM order_line GROUP BY 1, 2) AS l USING (w, d) WHERE o.lines IS DISTINCT FROM l.lines`},
	{5, "an order has a carrier or is new", `SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
		WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)`},
	{6, "an order has its lines", `SELECT count(*) FROM orders FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines FROM order_line GROUP BY 1, 2, 3) AS l
		ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_ol_cnt IS DISTINCT FROM lines`},
	{7, "a line is delivered when its order is", `SELECT count(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
		WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)`},
	{8, "a warehouse's sum is that of its payments", `SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(h_amount) FROM history WHERE h_w_id = w_id)`},
	{9, "a district's sum is that of its payments", `SELECT count(*) FROM (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY 1, 2) AS h
		RIGHT JOIN district ON h_w_id = d_w_id AND h_d_id = d_id WHERE d_ytd IS DISTINCT FROM paid`},
}

// enoughTime is how long a worker may look after its load has ended.
const enoughTime = 30 * time.Second

// consistent checks the data against the conditions, as far as the time reaches.
func consistent(ctx context.Context, s *postgres.Conn, within time.Duration) (measure.Check, error) {
	c := measure.Check{Name: "consistency", State: measure.Pass}
	var broken []string
	over, judged := time.Now().Add(within), 0
	for _, condition := range conditions {
		// The server keeps the time, so that it does not go on alone.
		left := max(1, time.Until(over).Milliseconds())
		if err := s.Exec(ctx, fmt.Sprintf("SET statement_timeout = %d", left)); err != nil {
			return c, fmt.Errorf("limit the time for consistency: %w", err)
		}
		rows, err := s.Query(ctx, condition.sql)
		if postgres.Canceled(err) {
			break
		}
		if err != nil {
			return c, fmt.Errorf("check condition %d of consistency: %w", condition.number, err)
		}
		judged++
		if n := rows[0][0]; n != "0" {
			broken = append(broken, fmt.Sprintf("condition %d, %s, is broken %s times", condition.number, condition.what, n))
		}
	}
	c.Detail = fmt.Sprintf("conditions 1 to %d hold", judged)
	if judged < len(conditions) {
		c.State = measure.Unknown
		c.Detail = fmt.Sprintf("%d of %d conditions were looked at in %s, and none is broken", judged, len(conditions), within)
	}
	if len(broken) > 0 {
		c.State, c.Detail = measure.Fail, strings.Join(broken, "; ")
	}
	return c, nil
}
