package redis

import "plimsoll/internal/parameter"

// candidates are the settings to tune first. Source: redis.conf, sections "Threaded I/O" and "Append only mode".
func candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "redis.io_threads", CPUs: []float64{.5, .75, 1}, Levels: []string{"1"}, Why: "up where CPUs are idle and sockets take most of the time"},
		{Setting: "redis.appendfsync", Levels: []string{"everysec", "no"}, Why: "fewer syncs of the append-only file"},
		{Setting: "redis.appendonly", Levels: []string{"false"}, Why: "no append-only file"},
		{Setting: "host.sysctl:net.core.somaxconn", Levels: []string{"4096", "16384"}, Why: "up: no connection is refused in a burst"},
	}
}
