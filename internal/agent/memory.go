package agent

import (
	"os"
	"runtime/debug"

	"plimsoll/internal/platform"
)

// sparing raises the garbage collector's heap target, since collections disturb timing, up to
// half of the available memory, so that a small guest does not kill the process.
func sparing() {
	debug.SetGCPercent(collections)
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return // unknown
	}
	if left, ok := platform.Meminfo(text, "MemAvailable"); ok {
		debug.SetMemoryLimit(left / 2)
	}
}
