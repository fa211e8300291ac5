package agent

import (
	"os"
	"runtime/debug"

	"plimsoll/internal/platform"
)

// sparing has the heap of this process grow far between two collections, since these
// disturb what is timed, but not beyond half of the memory that the machine has left: a
// small guest would end the process.
func sparing() {
	debug.SetGCPercent(collections)
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return // it is not known
	}
	if left, ok := platform.Meminfo(text, "MemAvailable"); ok {
		debug.SetMemoryLimit(left / 2)
	}
}
