package postgresql

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
)

// counter is a counter of the server, with its query.
type counter struct {
	metric measure.Metric
	sql    string // one value
	since  int    // first server version that has it, as in 150004; 0 for all
	until  int    // first version without it; 0 for none
}

const (
	databases    = "(SELECT sum(%s) FROM pg_stat_database)"
	writer       = "(SELECT %s FROM pg_stat_bgwriter)"
	checkpointer = "(SELECT %s FROM pg_stat_checkpointer)"
	log          = "(SELECT %s FROM pg_stat_wal)"
)

// counters are the counters of a server.
func counters() []counter {
	in := func(view, what string) string { return fmt.Sprintf(view, what) }
	return []counter{
		{measure.Metric{Name: "postgresql.commits", Unit: "1/s", Doc: "transactions committed"}, in(databases, "xact_commit"), 0, 0},
		{measure.Metric{Name: "postgresql.rollbacks", Unit: "1/s", Doc: "transactions rolled back"}, in(databases, "xact_rollback"), 0, 0},
		{measure.Metric{Name: "postgresql.deadlocks", Unit: "1/s", Doc: "deadlocks detected", Better: measure.LowerIsBetter}, in(databases, "deadlocks"), 0, 0},
		{measure.Metric{Name: "postgresql.pages_hit", Unit: "1/s", Doc: "buffer hits in shared_buffers"}, in(databases, "blks_hit"), 0, 0},
		{measure.Metric{Name: "postgresql.pages_read", Unit: "1/s", Doc: "pages read from the operating system"}, in(databases, "blks_read"), 0, 0},
		{measure.Metric{Name: "postgresql.temporary_files", Unit: "1/s", Doc: "temporary files created by queries"}, in(databases, "temp_files"), 0, 0},
		{measure.Metric{Name: "postgresql.temporary", Unit: "B/s", Doc: "bytes written to temporary files"}, in(databases, "temp_bytes"), 0, 0},
		{measure.Metric{Name: "postgresql.rows_fetched", Unit: "1/s", Doc: "rows fetched by queries"}, in(databases, "tup_fetched"), 0, 0},
		{measure.Metric{Name: "postgresql.rows_written", Unit: "1/s", Doc: "rows inserted, updated or deleted"}, in(databases, "tup_inserted + tup_updated + tup_deleted"), 0, 0},
		{measure.Metric{Name: "postgresql.checkpoints_timed", Unit: "1/s", Doc: "scheduled checkpoints"}, in(writer, "checkpoints_timed"), 0, 170000},
		{measure.Metric{Name: "postgresql.checkpoints_timed", Unit: "1/s", Doc: "scheduled checkpoints"}, in(checkpointer, "num_timed"), 170000, 0},
		{measure.Metric{Name: "postgresql.checkpoints_forced", Unit: "1/s", Doc: "requested checkpoints, mostly because of max_wal_size", Better: measure.LowerIsBetter}, in(writer, "checkpoints_req"), 0, 170000},
		{measure.Metric{Name: "postgresql.checkpoints_forced", Unit: "1/s", Doc: "requested checkpoints, mostly because of max_wal_size", Better: measure.LowerIsBetter}, in(checkpointer, "num_requested"), 170000, 0},
		{measure.Metric{Name: "postgresql.pages_checkpointed", Unit: "1/s", Doc: "pages written by checkpoints"}, in(writer, "buffers_checkpoint"), 0, 170000},
		{measure.Metric{Name: "postgresql.pages_checkpointed", Unit: "1/s", Doc: "pages written by checkpoints"}, in(checkpointer, "buffers_written"), 170000, 0},
		{measure.Metric{Name: "postgresql.log", Unit: "B/s", Doc: "WAL bytes generated"}, "(SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'))", 0, 0},
		{measure.Metric{Name: "postgresql.log_full", Unit: "1/s", Doc: "WAL writes forced by full wal_buffers", Better: measure.LowerIsBetter}, in(log, "wal_buffers_full"), 140000, 0},
		{measure.Metric{Name: "postgresql.lock_waits", Unit: "1", Doc: "sessions waiting for a lock, sampled", Better: measure.LowerIsBetter},
			"(SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock')", 0, 0},
		{measure.Metric{Name: "postgresql.sessions", Unit: "1", Doc: "client sessions"}, "(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')", 0, 0},
	}
}

func ratios() []service.Ratio {
	return []service.Ratio{{
		Metric: measure.Metric{Name: "postgresql.hit_rate", Unit: "1", Doc: "buffer hit ratio of shared_buffers", Better: measure.HigherIsBetter},
		Of:     "postgresql.pages_hit", Per: []string{"postgresql.pages_hit", "postgresql.pages_read"},
	}}
}

func metrics() []measure.Metric {
	var list []measure.Metric
	for _, c := range counters() {
		if c.until == 0 {
			list = append(list, c.metric)
		}
	}
	return list
}

// count reads all counters of the server's version.
func (c client) count(ctx context.Context) (map[string]float64, error) {
	rows, err := c.Ask(ctx, "SHOW server_version_num")
	if err != nil {
		return nil, err
	}
	version, err := strconv.Atoi(rows[0][0])
	if err != nil {
		return nil, fmt.Errorf("unexpected version from the server: %q", rows[0][0])
	}
	var names, parts []string
	for _, c := range counters() {
		if version >= c.since && (c.until == 0 || version < c.until) {
			names, parts = append(names, c.metric.Name), append(parts, c.sql)
		}
	}
	if rows, err = c.Ask(ctx, "SELECT "+strings.Join(parts, ", ")); err != nil {
		return nil, err
	}
	counts := map[string]float64{}
	for i, name := range names {
		if v, err := strconv.ParseFloat(rows[0][i], 64); err == nil {
			counts[name] = v
		}
	}
	return counts, nil
}
