package agent

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
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
	if left := available(string(text)); left > 0 {
		debug.SetMemoryLimit(left / 2)
	}
}

// available is what the kernel says that programs can still have, in bytes (MemAvailable
// of proc(5)); 0 where it does not say.
func available(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "MemAvailable:" {
			kib, _ := strconv.ParseInt(f[1], 10, 64) // 0 where it is no number
			return kib << 10
		}
	}
	return 0
}
