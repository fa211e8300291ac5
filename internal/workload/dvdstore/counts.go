package dvdstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/transact"
)

// count has PostgreSQL count the calls of functions that a session makes.
const count = "SET track_functions = 'pl'"

// counts are the calls that servers counted.
type counts struct {
	calls    [functionsInAll]int64 // of each function
	apart    bool                  // those are known
	all      int64                 // of any procedure
	together bool                  // that is known
	attempts bool                  // those that failed are counted as well
	loses    bool                  // the calls of each function may be more than was counted
	since    string                // names the start of the server that counts
	again    bool                  // a server was started again
}

// from is the difference to an earlier count.
func (n counts) from(was counts) counts {
	for k := range n.calls {
		n.calls[k] -= was.calls[k]
	}
	n.all -= was.all
	n.again = n.since != was.since
	n.apart = n.apart && was.apart
	return n
}

// with is the sum of two servers' counts.
func (n counts) with(o counts) counts {
	for k := range n.calls {
		n.calls[k] += o.calls[k]
	}
	n.all += o.all
	n.apart, n.together = n.apart && o.apart, n.together && o.together
	n.attempts, n.loses, n.again = n.attempts || o.attempts, n.loses || o.loses, n.again || o.again
	return n
}

// counting has a server count, as far as its user may have it so.
func counting(ctx context.Context, s engine.Conn) (bool, error) {
	if engine.Speaks(s) == engine.MariaDB {
		return true, nil
	}
	err := s.Exec(ctx, count)
	if engine.Refused(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("enable call statistics: %w", err)
	}
	return true, nil
}

// The queries of what is counted. MariaDB counts calls of procedures always, and those of
// each where it measures itself; these are added up without a lock, so that two sessions at
// once may count as one. The end of its UUIDs is drawn when it starts, where its uptime
// would be in whole seconds.
const (
	postgresCounts = "SELECT 'since', pg_postmaster_start_time()::text UNION ALL SELECT funcname, calls::text FROM pg_stat_user_functions WHERE schemaname = 'public'"
	mariaCounts    = "SELECT 'since', substring(uuid(), 20) UNION ALL " +
		"SELECT 'all', variable_value FROM information_schema.global_status WHERE variable_name = 'COM_CALL_PROCEDURE' UNION ALL SELECT 'apart', @@performance_schema"
	mariaCountsApart = "SELECT object_name, count_star FROM performance_schema.events_statements_summary_by_program WHERE object_type = 'PROCEDURE' AND object_schema = database()"
)

// counted holds the counts of a server.
func counted(ctx context.Context, s engine.Conn) (n counts, err error) {
	query := postgresCounts
	if engine.Speaks(s) == engine.MariaDB {
		query, n.attempts, n.together, n.loses = mariaCounts, true, true, true
	} else {
		n.apart = true
	}
	rows, err := s.Query(ctx, query)
	if err != nil {
		return n, fmt.Errorf("read the call counts of functions: %w", err)
	}
	if err := n.take(rows); err != nil || engine.Speaks(s) == engine.PostgreSQL || !n.apart {
		return n, err
	}
	rows, err = s.Query(ctx, mariaCountsApart)
	if engine.Refused(err) { // the user lacks the privilege
		n.apart = false
		return n, nil
	}
	if err != nil {
		return n, fmt.Errorf("read the call counts of procedures: %w", err)
	}
	return n, n.take(rows)
}

// take stores a count by name.
func (n *counts) take(rows [][]string) error {
	for _, row := range rows {
		if len(row) != 2 {
			return fmt.Errorf("read the call counts of functions: unexpected value %q", row)
		}
		if row[0] == "since" {
			n.since = row[1]
			continue
		}
		k := slices.IndexFunc(functions[:], func(f function) bool { return f.name == row[0] })
		if k < 0 && row[0] != "all" && row[0] != "apart" {
			continue
		}
		times, err := strconv.ParseInt(row[1], 10, 64)
		switch {
		case err != nil:
			return fmt.Errorf("read the call count of %s: %w", row[0], err)
		case k >= 0:
			n.calls[k] = times
		case row[0] == "all":
			n.all = times
		default:
			n.apart = times == 1
		}
	}
	return nil
}

// lastReports limits the time that the server may take to add up its sessions' counts.
const lastReports = 5 * time.Second

// statistics compares the servers' counts with the load's. A session reports its last
// counts when it ends.
func (t *tally) statistics(ctx context.Context, c *course) (measure.Check, error) {
	for over := time.Now().Add(lastReports); ; {
		n, err := servedSince(ctx, c)
		if err != nil {
			return measure.Check{}, err
		}
		check := t.served(n)
		if check.State != measure.Fail || t.exceeded(n) || time.Now().After(over) { // counts only grow
			return check, nil
		}
		select {
		case <-ctx.Done():
			return check, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// servedSince are the counts of all servers together since the load began.
func servedSince(ctx context.Context, c *course) (all counts, err error) {
	now, err := transact.After(ctx, c, counted)
	if err != nil {
		return all, err
	}
	for number, was := range c.Before {
		if n := now[number].from(was.counts); number == 0 {
			all = n
		} else {
			all = all.with(n)
		}
	}
	return all, nil
}
