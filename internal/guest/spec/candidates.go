package spec

import "plimsoll/internal/parameter"

// Candidates are the settings of a VM's disk to tune first.
//
// Source: QEMU documentation, "Block device options" and "virtio-blk": Linux AIO or io_uring without the host's page
// cache, an IOThread of its own, a queue per vCPU.
func Candidates() []parameter.Candidate {
	return []parameter.Candidate{
		{Setting: "guest.cache", Levels: []string{"none", "writeback", "unsafe"}, Why: "none bypasses the host's page cache; writeback uses it"},
		{Setting: "guest.aio", Levels: []string{"native", "io_uring", "threads"}, Why: "native and io_uring save a thread switch per request"},
		{Setting: "guest.iothread", Levels: []string{"true"}, Why: "requests do not wait for QEMU's main loop"},
		{Setting: "guest.queues", Levels: []string{"2", "4"}, Why: "up to the vCPUs"},
		{Setting: "guest.controller", Levels: []string{"virtio-blk", "virtio-scsi"}, Why: "virtio-blk has the shortest path"},
	}
}
