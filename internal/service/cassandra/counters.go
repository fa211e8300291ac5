package cassandra

import (
	"context"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
)

// metrics are the counters of the nodes, read by CQL from the tables of system_views; counts
// are sums over the nodes, times are maxima.
func metrics() []measure.Metric {
	lower := measure.LowerIsBetter
	return []measure.Metric{
		{Name: "cassandra.reads", Unit: "1/s", Doc: "reads coordinated"},
		{Name: "cassandra.writes", Unit: "1/s", Doc: "writes coordinated"},
		{Name: "cassandra.read_p99", Unit: "s", Doc: "99th percentile of coordinator read latency, slowest table, last minutes", Better: lower},
		{Name: "cassandra.write_p99", Unit: "s", Doc: "99th percentile of coordinator write latency, slowest table, last minutes", Better: lower},
		{Name: "cassandra.compactions_pending", Unit: "1", Doc: "compactions running or pending", Better: lower},
		{Name: "cassandra.compactions", Unit: "1/s", Doc: "compaction tasks completed"},
		{Name: "cassandra.flushes_pending", Unit: "1", Doc: "memtable flushes running or pending", Better: lower},
		{Name: "cassandra.writes_pending", Unit: "1", Doc: "pending tasks of the mutation stage", Better: lower},
		{Name: "cassandra.reads_pending", Unit: "1", Doc: "pending tasks of the read stage", Better: lower},
		{Name: "cassandra.requests_pending", Unit: "1", Doc: "pending native transport requests", Better: lower},
		{Name: "cassandra.blocked", Unit: "1/s", Doc: "tasks blocked by a full stage queue", Better: lower},
		{Name: "cassandra.executions", Unit: "1/s", Doc: "prepared statements executed"},
		{Name: "cassandra.key_cache_hits", Unit: "1/s", Doc: "key-cache hits"},
		{Name: "cassandra.key_cache_requests", Unit: "1/s", Doc: "key-cache requests"},
		{Name: "cassandra.data", Unit: "B", Doc: "on-disk size of user tables, in whole MiB per table"},
		{Name: "cassandra.clients", Unit: "1", Doc: "client connections"},
	}
}

// count queries each node.
func (c client) count(ctx context.Context) (map[string]float64, error) {
	counts := map[string]float64{}
	for _, m := range metrics() {
		counts[m.Name] = 0
	}
	err := c.each(ctx, func(ctx context.Context, node service.SQLSession) error {
		for _, view := range views() {
			rows, err := node.Query(ctx, view.query)
			if err != nil {
				return err
			}
			for _, row := range rows {
				view.add(counts, row)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counts, nil
}

// view is a query, with a function that adds a row to the counts.
type view struct {
	query string
	add   func(counts map[string]float64, row []string)
}

func number(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64) // null is 0
	return v
}

// latency reads the operations of a table, and the highest latency.
func latency(count, p99 string) func(map[string]float64, []string) {
	return func(counts map[string]float64, row []string) {
		counts[count] += number(row[0])
		counts[p99] = max(counts[p99], number(row[1])/1000)
	}
}

func views() []view {
	return []view{
		{"SELECT count, p99th_ms FROM system_views.coordinator_read_latency", latency("cassandra.reads", "cassandra.read_p99")},
		{"SELECT count, p99th_ms FROM system_views.coordinator_write_latency", latency("cassandra.writes", "cassandra.write_p99")},
		{"SELECT name, active_tasks, pending_tasks, completed_tasks, blocked_tasks_all_time FROM system_views.thread_pools", pool},
		{"SELECT task_id FROM system_views.sstable_tasks", func(counts map[string]float64, _ []string) { counts["cassandra.compactions_pending"]++ }},
		{"SELECT name, value FROM system_views.cql_metrics", func(counts map[string]float64, row []string) {
			if row[0] == "prepared_statements_executed" {
				counts["cassandra.executions"] += number(row[1])
			}
		}},
		{"SELECT hit_count, request_count FROM system_views.caches WHERE name = 'keys'", func(counts map[string]float64, row []string) {
			counts["cassandra.key_cache_hits"] += number(row[0])
			counts["cassandra.key_cache_requests"] += number(row[1])
		}},
		{"SELECT keyspace_name, mebibytes FROM system_views.disk_usage", func(counts map[string]float64, row []string) {
			if !strings.HasPrefix(row[0], "system") {
				counts["cassandra.data"] += number(row[1]) * (1 << 20)
			}
		}},
		{"SELECT port FROM system_views.clients", func(counts map[string]float64, _ []string) { counts["cassandra.clients"]++ }},
	}
}

// pool adds a thread pool.
func pool(counts map[string]float64, row []string) {
	pending := number(row[2])
	switch row[0] {
	case "CompactionExecutor":
		counts["cassandra.compactions_pending"] += pending // running compactions have names
		counts["cassandra.compactions"] += number(row[3])
	case "MemtableFlushWriter":
		counts["cassandra.flushes_pending"] += number(row[1]) + pending
	case "MutationStage":
		counts["cassandra.writes_pending"] += pending
	case "ReadStage":
		counts["cassandra.reads_pending"] += pending
	case "Native-Transport-Requests":
		counts["cassandra.requests_pending"] += pending
	}
	counts["cassandra.blocked"] += number(row[4])
}
