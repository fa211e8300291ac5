// Package consistency looks whether the data that a load left behind is as its
// transactions, each done whole or not at all, would have it.
package consistency

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/measure"
)

// Condition is one that always holds. Its SQL, which all engines understand, counts what
// breaks it.
type Condition struct{ What, SQL string }

// Unequal is SQL that counts the keys whose sum of n, over the rows of both queries
// together, is not 0. The key is names of columns with a comma between them; the first
// query names the columns. What only one side has is found as well.
func Unequal(key, one, other string) string {
	return "SELECT count(*) FROM (SELECT 1 FROM (" + one + " UNION ALL " + other + ") AS sides GROUP BY " + key + " HAVING sum(n) <> 0) AS broken"
}

// EnoughTime is how long a worker may look after its load has ended.
const EnoughTime = 30 * time.Second

// Look judges the conditions, which are numbered from 1, in a session with a server of a
// protocol, as far as the time reaches. What there is no time for is not said to hold.
func Look(ctx context.Context, s engine.Conn, protocol string, conditions []Condition, within time.Duration) (measure.Check, error) {
	c := measure.Check{Name: "consistency", State: measure.Pass}
	var broken []string
	over, judged := time.Now().Add(within), 0
	for i, condition := range conditions {
		// The server keeps the time, so that it does not go on alone.
		if err := s.Exec(ctx, engine.Limit(protocol, time.Until(over))); err != nil {
			return c, fmt.Errorf("limit the time for consistency: %w", err)
		}
		rows, err := s.Query(ctx, condition.SQL)
		if engine.Overdue(err) {
			break
		}
		if err != nil {
			return c, fmt.Errorf("check condition %d of consistency: %w", i+1, err)
		}
		judged++
		if n := rows[0][0]; n != "0" {
			broken = append(broken, fmt.Sprintf("condition %d, %s, is broken %s times", i+1, condition.What, n))
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
