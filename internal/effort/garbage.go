package effort

import (
	"os"
	"runtime/debug"
	"strconv"
)

// garbage is how much the heap of a test program grows before it is collected, in percent.
const garbage = 400

// CollectSeldom has fast tests, and the programs of ours that they start, trade memory for CPU time: they live
// for seconds. Call it before other tests of the package run.
func CollectSeldom() {
	if !fast() || os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(garbage)
	_ = os.Setenv("GOGC", strconv.Itoa(garbage)) // without it the others collect as usual
}
