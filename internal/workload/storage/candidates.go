package storage

import "plimsoll/internal/parameter"

// candidates are the settings to tune first.
//
// Sources: Linux, Documentation/block (schedulers, queue sysfs) and Documentation/admin-guide/sysctl/vm.rst.
func candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "storage.depth", Levels: []string{"2", "4", "8", "16", "32", "64"}, Why: "up until all servers of the device are busy"},
		{Setting: "storage.threads", Levels: []string{"2", "4", "8"}, Why: "up where one CPU or one queue is the limit"},
		{Setting: "host.scheduler", Levels: []string{"none", "mq-deadline", "kyber", "bfq"}, Why: "none for devices with queues of their own"},
		{Setting: "host.read_ahead", Levels: []string{"128KiB", "1MiB", "4MiB"}, Why: "up for sequential reads through the page cache"},
		{Setting: "host.sysctl:vm.dirty_ratio", Levels: []string{"10", "40"}, Why: "up: longer bursts of buffered writes before writers wait"},
		{Setting: "host.sysctl:vm.dirty_background_ratio", Levels: []string{"1", "5"}, Why: "down: steadier writeback"},
	}
}
