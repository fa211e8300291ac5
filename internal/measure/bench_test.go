package measure

import (
	"testing"
	"time"
)

func BenchmarkInterval(b *testing.B) {
	times := exponential(300, 100*time.Microsecond, 1)
	for b.Loop() {
		r := NewRecorder(nil)
		h := NewHistogram()
		for _, d := range times {
			h.Record(d, 7)
		}
		r.Interval(Interval{To: time.Second, Samples: []Sample{{Operations: 2100, Latency: h, Total: time.Second}}})
	}
}
