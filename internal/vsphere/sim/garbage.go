package sim

import (
	"runtime"
	"runtime/debug"
)

const (
	room    = 1 << 30 // bytes
	mostGap = 800     // per cent
)

// CollectLess makes a process that only serves collect garbage after each GiB of allocations,
// instead of when the heap has doubled: each collection scans the whole inventory.
func CollectLess() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(mostGap, max(100, 100*room/max(1, m.HeapAlloc)))))
}
