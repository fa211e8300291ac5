package sim

import (
	"runtime"
	"runtime/debug"
)

const (
	room    = 1 << 30 // bytes
	mostGap = 800     // per cent
)

// CollectLess has a process that does nothing but serve collect garbage when a GiB was allocated, and not as often
// as the inventory's own size was: each collection looks at the whole inventory.
func CollectLess() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(int(min(mostGap, max(100, 100*room/max(1, m.HeapAlloc)))))
}
