package memory_test

import (
	"testing"
	"time"

	"plimsoll/internal/hoststat/memory"
)

// No memory is faster than a third of a nanosecond, and none of a host slower than 10 us.
func TestLatency(t *testing.T) {
	p := memory.NewProbe()
	for range 3 {
		if l := p.Latency(); l < time.Nanosecond/3 || l > 10*time.Microsecond {
			t.Errorf("a read takes %v", l)
		}
		t.Log(p.Latency())
	}
}
