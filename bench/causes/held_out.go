package causes

import "slices"

// heldOut are causes that no rule was tuned on. Who writes rules neither reads nor runs them.
func heldOut() []cause {
	return slices.Concat(otherProcessors(), otherMemory(), otherStorage(), otherNetworks())
}

func otherProcessors() []cause {
	return []cause{
		{
			name: "database-affinity", about: "PostgreSQL with all its processes bound to one CPU",
			rules: []string{"cpu_affinity", "cpuset_too_small"}, change: []string{"taskset", "affinity", "Affinity"}, metric: rate(), bites: 1.3, make: databaseAffinity,
		},
		{
			name: "cache-quota", about: "Memcached with a CPU quota below its demand",
			rules: []string{"cpu_quota"}, change: []string{"cfs_quota", "cpu.max", "CPUQuota"}, metric: slowest(), bites: 3, make: cacheQuota,
		},
		{
			name: "encoder", about: "nginx beside an encoder on all CPUs",
			rules: []string{"noisy_neighbour"}, change: []string{"nice", "weight", "Weight", "shares", "cpuset", "AllowedCPUs", "taskset", "move", "Move"}, names: []string{"encoder"}, metric: rate(), bites: 1.3, make: encoder,
		},
		{
			name: "table-lock", about: "PostgreSQL sessions that lock the same table in turn",
			rules: []string{"lock_convoy"}, change: []string{"lock"}, names: []string{"postgres"}, metric: rate(), bites: 2, make: tableLock,
		},
		{
			name: "few-workers", about: "a server of two processes that wait for something else in each request",
			rules: []string{"too_few_workers", "listen_queue"}, change: []string{"worker", "process"}, metric: latency(), bites: 3, make: fewWorkers,
		},
		{
			name: "web-stall", about: "nginx that stops for a while every few seconds",
			rules: []string{"periodic_stall"}, change: []string{"period", "every", "timer", "cron", "snapshot", "trace", "stop"}, metric: slowest(), bites: 3, make: webStall,
		},
		{
			name: "python-thread", about: "a server in Python whose one thread is at its limit",
			rules: []string{"hot_thread", "too_few_workers"}, change: []string{"thread", "worker", "process", "instance", "shard", "faster"}, names: []string{"report", "python"}, metric: latency(), bites: 2, make: pythonThread,
		},
	}
}

func otherMemory() []cause {
	return []cause{
		{
			name: "cache-swap", about: "Redis with more data than its control group has memory, and swap",
			rules: []string{"swapping", "memory_limit"}, change: append(limits(), "swap"), metric: latency(), bites: 1.5, make: cacheSwap,
		},
		{
			name: "mapped-file", about: "a program in Python that maps a file, in a control group with less memory",
			rules: []string{"memory_limit", "memory_reclaim"}, change: limits(), metric: rate(), bites: 2, make: mappedFile,
		},
		{
			name: "default-pages", about: "random access to a large list in Python, which does not ask for huge pages",
			rules: []string{"huge_pages"}, change: []string{"transparent_hugepage", "huge page", "hugepage"}, metric: rate(), bites: 1.1, make: defaultPages,
		},
	}
}

func otherStorage() []cause {
	return []cause{
		{
			name: "append-fsync", about: "Redis that forces each write to the disk",
			rules: []string{"fsync_storm"}, change: []string{"appendfsync", "everysec", "group", "batch", "sync"}, metric: rate(), bites: 1.5, make: appendFsync,
		},
		{
			name: "wal-throttle", about: "PostgreSQL in a control group with a limit on writes per second",
			rules: []string{"io_throttle"}, change: []string{"blkio.throttle", "io.max", "IOWriteIOPSMax"}, metric: rate(), bites: 2, make: walThrottle,
		},
		{
			name: "file-scan", about: "a program in Python that reads a file on a device without read-ahead",
			rules: []string{"read_ahead"}, change: []string{"read_ahead_kb", "setra"}, metric: rate(), bites: 1.5, make: fileScan,
		},
		{
			name: "one-writer", about: "a single direct writer on a device that takes many writes at once",
			rules: []string{"queue_depth_low"}, change: []string{"iodepth", "depth", "outstanding", "concurren", "parallel"}, metric: rate(), bites: 1.5, make: oneWriter,
		},
	}
}

func otherNetworks() []cause {
	return []cause{
		{
			name: "upload-loss", about: "an upload over a link that loses packets",
			rules: []string{"tcp_retransmits"}, change: []string{"loss", "lose", "drop", "cable", "link", "bbr", "congestion"}, metric: rate(), bites: 2, make: uploadLoss,
		},
		{
			name: "maxclients", about: "Redis with fewer maxclients than there are clients",
			rules: []string{"connection_limit"}, change: []string{"maxclients"}, metric: failures(), bites: 2, make: maxClients,
		},
		{
			name: "far-cache", about: "a client that waits for each answer of a distant Redis",
			rules: []string{"network_delay"}, change: []string{"close", "near", "pipelin", "batch", "round trip", "connections", "concurren"}, metric: rate(), bites: 3, make: farCache,
		},
		{
			name: "small-wmem", about: "downloads from nginx over a long link with a small tcp_wmem",
			rules: []string{"socket_buffers"}, change: []string{"tcp_wmem", "wmem"}, metric: latency(), bites: 2, make: smallWmem,
		},
		{
			name: "python-backlog", about: "a server in Python that listens with a queue of 1",
			rules: []string{"listen_queue"}, change: []string{"backlog", "somaxconn"}, metric: slowest(), bites: 3, make: pythonBacklog,
		},
		{name: "easy-database", about: "PostgreSQL at an easy rate", metric: rate(), make: easyDatabase},
		{name: "easy-far", about: "nginx at an easy rate over a good link", metric: rate(), make: easyFar},
	}
}
