package postgresql

import "plimsoll/internal/parameter"

// candidates are the settings to tune first.
//
// Sources: PostgreSQL documentation, chapters "Resource Consumption", "Write Ahead Log" and "WAL
// Configuration": a quarter of the memory for shared_buffers, 40 % at most; checkpoints far apart.
func candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "postgresql.shared_buffers", Memory: []float64{1. / 32, 1. / 8, 1. / 4, .4}, Why: "up: fewer reads of data pages"},
		{Setting: "postgresql.max_wal_size", Levels: []string{"1GiB", "4GiB", "16GiB"}, Why: "up: fewer checkpoints, so fewer full-page writes"},
		{Setting: "postgresql.checkpoint_timeout", Levels: []string{"5m", "15m", "30m"}, Why: "up: fewer checkpoints; recovery takes longer"},
		{Setting: "postgresql.wal_buffers", Levels: []string{"16MiB", "64MiB"}, Why: "up: fewer waits for WAL writes under many sessions"},
		{Setting: "postgresql.wal_compression", Levels: []string{"lz4", "off"}, Why: "smaller full-page writes for CPU time"},
		{Setting: "postgresql.random_page_cost", Levels: []string{"1.1"}, Why: "down on SSDs: more index scans"},
		{Setting: "postgresql.effective_io_concurrency", Levels: []string{"16", "200"}, Why: "up on SSDs: more reads ahead of bitmap scans"},
		{Setting: "postgresql.work_mem", Levels: []string{"16MiB", "64MiB"}, Why: "up: sorts and hashes without temporary files"},
		{Setting: "postgresql.jit", Levels: []string{"false"}, Why: "off for short queries"},
		{Setting: "postgresql.synchronous_commit", Levels: []string{"off"}, Why: "off: commits do not wait for the disk"},
		{Setting: "host.sysctl:vm.dirty_background_ratio", Levels: []string{"1", "5"}, Why: "down: smaller bursts of writeback at checkpoints"},
	}
}
