package effort

import (
	"os"
	"runtime/debug"
)

// garbage is how much the heap of a test program grows before it is collected, in percent.
const garbage = 400

// CollectSeldom has a test program trade memory for CPU time: it lives for seconds. Call it before
// the tests run.
func CollectSeldom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbage)
	}
}
