package agent

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestSparing(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	sparing()
	if got := debug.SetGCPercent(100); got != collections {
		t.Errorf("collections at %d %%", got)
	}
	if got := debug.SetMemoryLimit(-1); got <= 0 || got == math.MaxInt64 {
		t.Errorf("limit %d", got)
	}
}
