package mariadb

import "plimsoll/internal/parameter"

// candidates are the settings to tune first.
//
// Source: MariaDB documentation, "InnoDB System Variables" and "Optimizing InnoDB": most of the memory for the
// buffer pool of a dedicated server, a redo log that holds an hour of writes, no neighbour flushing on SSDs.
func candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "mariadb.innodb_buffer_pool_size", Memory: []float64{1. / 32, 1. / 8, 1. / 4, 1. / 2}, Why: "up: fewer reads of data pages"},
		{Setting: "mariadb.innodb_log_file_size", Levels: []string{"512MiB", "2GiB"}, Why: "up: fewer checkpoints"},
		{Setting: "mariadb.innodb_flush_method", Levels: []string{"O_DIRECT", "fsync", "O_DIRECT_NO_FSYNC"}, Why: "O_DIRECT avoids caching data pages twice"},
		{Setting: "mariadb.innodb_io_capacity", Levels: []string{"1000", "5000"}, Why: "up on SSDs: background flushing keeps up"},
		{Setting: "mariadb.innodb_flush_neighbors", Levels: []string{"0", "1"}, Why: "0 on SSDs: no writes of pages that could wait"},
		{Setting: "mariadb.innodb_log_buffer_size", Levels: []string{"64MiB"}, Why: "up: large transactions do not wait for the log"},
		{Setting: "mariadb.innodb_adaptive_hash_index", Levels: []string{"true", "false"}, Why: "on for point reads of a set in memory"},
		{Setting: "mariadb.thread_handling", Levels: []string{"pool-of-threads"}, Why: "with many more sessions than CPUs"},
		{Setting: "mariadb.innodb_flush_log_at_trx_commit", Levels: []string{"2", "0", "1"}, Why: "2 or 0: commits do not wait for the disk"},
	}
}
