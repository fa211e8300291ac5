package dataset

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
)

// Condition is a consistency condition of the data.
type Condition struct {
	Number int // its number
	What   string
	SQL    string // counts violations
}

// Unequal is SQL that counts the keys whose sum of n, over the rows of both queries, is not 0.
// The key is a comma-separated list of columns; the first query names the columns. Keys on one
// side only count as well.
func Unequal(key, one, other string) string {
	return "SELECT count(*) FROM (SELECT 1 FROM (" + one + " UNION ALL " + other + ") AS sides GROUP BY " + key + " HAVING sum(n) <> 0) AS broken"
}

// EnoughTime is the time limit of checks after a load.
const EnoughTime = time.Minute

// Consistent checks conditions on the data of a session within a time limit.
func Consistent(ctx context.Context, s engine.Conn, within time.Duration, conditions []Condition) (measure.Check, error) {
	c := measure.Check{Name: "consistency", Kind: measure.KindData, State: measure.Pass}
	var broken []string
	over, judged := time.Now().Add(within), 0
	for _, condition := range conditions {
		if err := engine.Limit(ctx, s, max(time.Millisecond, time.Until(over))); err != nil {
			return c, err
		}
		rows, err := s.Query(ctx, condition.SQL)
		if engine.Canceled(err) {
			break
		}
		if err != nil {
			return c, fmt.Errorf("check consistency condition %d: %w", condition.Number, err)
		}
		judged++
		if n := rows[0][0]; n != "0" {
			broken = append(broken, fmt.Sprintf("condition %d, %s, is violated %s times", condition.Number, condition.What, n))
		}
	}
	c.Detail = fmt.Sprintf("conditions 1 to %d hold", judged)
	if judged < len(conditions) {
		c.State = measure.Unknown
		c.Detail = fmt.Sprintf("%d of %d conditions were checked in %s, and none is violated", judged, len(conditions), within)
	}
	if len(broken) > 0 {
		c.State, c.Detail = measure.Fail, strings.Join(broken, "; ")
	}
	return c, engine.Limit(ctx, s, 0)
}

// Worst is the worst check of several servers, with the number of the server.
func Worst(checks []measure.Check) measure.Check {
	worst := 0
	for number, c := range checks {
		was := checks[worst].State
		if was == measure.Pass && c.State != measure.Pass || was == measure.Unknown && c.State == measure.Fail {
			worst = number
		}
	}
	c := checks[worst]
	if len(checks) > 1 && c.State != measure.Pass {
		c.Detail = fmt.Sprintf("server %d: %s", worst+1, c.Detail)
	}
	return c
}
