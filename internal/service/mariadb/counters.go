package mariadb

import (
	"context"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
)

// counter is a metric of a server: the sum of some status variables, less others.
type counter struct {
	metric      measure.Metric
	plus, minus []string
}

// counters are the counters of a server.
func counters() []counter {
	sum := func(names ...string) []string { return names }
	return []counter{
		{measure.Metric{Name: "mariadb.commits", Unit: "1/s", Doc: "transactions committed, autocommitted statements included"}, sum("Handler_commit"), nil},
		{measure.Metric{Name: "mariadb.rollbacks", Unit: "1/s", Doc: "transactions rolled back"}, sum("Handler_rollback"), nil},
		{measure.Metric{Name: "mariadb.deadlocks", Unit: "1/s", Doc: "deadlocks detected", Better: measure.LowerIsBetter}, sum("Innodb_deadlocks"), nil},
		{measure.Metric{Name: "mariadb.statements", Unit: "1/s", Doc: "client statements"}, sum("Questions"), nil},
		{measure.Metric{Name: "mariadb.pages_hit", Unit: "1/s", Doc: "buffer pool hits"}, sum("Innodb_buffer_pool_read_requests"), sum("Innodb_buffer_pool_reads")},
		{measure.Metric{Name: "mariadb.pages_read", Unit: "1/s", Doc: "buffer pool misses that read a page"}, sum("Innodb_buffer_pool_reads"), nil},
		{measure.Metric{Name: "mariadb.pages_waited", Unit: "1/s", Doc: "waits for a free page in the buffer pool", Better: measure.LowerIsBetter}, sum("Innodb_buffer_pool_wait_free"), nil},
		{measure.Metric{Name: "mariadb.pages_flushed", Unit: "1/s", Doc: "pages flushed"}, sum("Innodb_buffer_pool_pages_flushed"), nil},
		{measure.Metric{Name: "mariadb.dirty", Unit: "B", Doc: "dirty pages"}, sum("Innodb_buffer_pool_bytes_dirty"), nil},
		{measure.Metric{Name: "mariadb.checkpointed", Unit: "B/s", Doc: "redo log freed by checkpoints"}, sum("Innodb_lsn_last_checkpoint"), nil},
		{measure.Metric{Name: "mariadb.checkpoint_age", Unit: "B", Doc: "checkpoint age: redo log since the last checkpoint"}, sum("Innodb_checkpoint_age"), nil},
		{measure.Metric{Name: "mariadb.log", Unit: "B/s", Doc: "redo log bytes written"}, sum("Innodb_os_log_written"), nil},
		{measure.Metric{Name: "mariadb.log_waits", Unit: "1/s", Doc: "waits for space in the log buffer", Better: measure.LowerIsBetter}, sum("Innodb_log_waits"), nil},
		{measure.Metric{Name: "mariadb.syncs", Unit: "1/s", Doc: "InnoDB fsync calls"}, sum("Innodb_data_fsyncs"), nil},
		{measure.Metric{Name: "mariadb.row_lock_waits", Unit: "1/s", Doc: "row lock waits", Better: measure.LowerIsBetter}, sum("Innodb_row_lock_waits"), nil},
		{measure.Metric{Name: "mariadb.row_locks_waiting", Unit: "1", Doc: "sessions waiting for a row lock, sampled", Better: measure.LowerIsBetter}, sum("Innodb_row_lock_current_waits"), nil},
		{measure.Metric{Name: "mariadb.history", Unit: "1", Doc: "InnoDB history list length"}, sum("Innodb_history_list_length"), nil},
		{measure.Metric{Name: "mariadb.rows_read", Unit: "1/s", Doc: "rows read"}, sum("Handler_read_first", "Handler_read_key", "Handler_read_last", "Handler_read_next", "Handler_read_prev", "Handler_read_rnd", "Handler_read_rnd_next"), nil},
		{measure.Metric{Name: "mariadb.rows_written", Unit: "1/s", Doc: "rows inserted, updated or deleted"}, sum("Handler_write", "Handler_update", "Handler_delete"), nil},
		{measure.Metric{Name: "mariadb.temporary_tables", Unit: "1/s", Doc: "temporary tables created"}, sum("Created_tmp_tables"), nil},
		{measure.Metric{Name: "mariadb.temporary_tables_on_disk", Unit: "1/s", Doc: "temporary tables created on disk", Better: measure.LowerIsBetter}, sum("Created_tmp_disk_tables"), nil},
		{measure.Metric{Name: "mariadb.sessions", Unit: "1", Doc: "client sessions"}, sum("Threads_connected"), nil},
		{measure.Metric{Name: "mariadb.running", Unit: "1", Doc: "sessions running a statement, sampled"}, sum("Threads_running"), nil},
	}
}

func ratios() []service.Ratio {
	return []service.Ratio{{
		Metric: measure.Metric{Name: "mariadb.hit_rate", Unit: "1", Doc: "buffer pool hit ratio", Better: measure.HigherIsBetter},
		Of:     "mariadb.pages_hit", Per: []string{"mariadb.pages_hit", "mariadb.pages_read"},
	}}
}

func metrics() []measure.Metric {
	var list []measure.Metric
	for _, c := range counters() {
		list = append(list, c.metric)
	}
	return list
}

// count reads all counters of the server.
func (c client) count(ctx context.Context) (map[string]float64, error) {
	rows, err := c.Ask(ctx, "SHOW GLOBAL STATUS")
	if err != nil {
		return nil, err
	}
	said := map[string]float64{}
	for _, row := range rows {
		if v, err := strconv.ParseFloat(row[1], 64); err == nil {
			said[strings.ToLower(row[0])] = v
		}
	}
	return counted(said), nil
}

// counted adds up the values of a server. A counter with a missing part is omitted.
func counted(said map[string]float64) map[string]float64 {
	counts := map[string]float64{}
	for _, c := range counters() {
		sum, whole := 0., true
		add := func(names []string, sign float64) {
			for _, name := range names {
				v, known := said[strings.ToLower(name)]
				sum, whole = sum+sign*v, whole && known
			}
		}
		add(c.plus, 1)
		add(c.minus, -1)
		if whole {
			counts[c.metric.Name] = sum
		}
	}
	return counts
}
