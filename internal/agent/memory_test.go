package agent

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestAvailable(t *testing.T) {
	for text, want := range map[string]int64{
		"MemTotal:  251000 kB\nMemFree:  90 kB\nMemAvailable:     188084 kB\n": 188084 << 10,
		"MemTotal:  251000 kB\n": 0, "": 0, "MemAvailable: much kB\n": 0,
	} {
		if got := available(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

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
