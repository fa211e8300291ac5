package sim

import (
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// BenchmarkTrial is a trial of 10 s: an A/A study of 6 blocks has twelve.
func BenchmarkTrial(b *testing.B) {
	one := []load.Class{{Share: 1, Bytes: 4096}}
	for _, c := range []struct {
		name   string
		demand load.Demand
	}{
		{"closed", load.Demand{Concurrency: 16, Classes: one}},
		{"think", load.Demand{Concurrency: 64, Think: time.Millisecond, Classes: one}},
		{"open", load.Demand{Rate: 15000, Classes: one}},
		{"overload", load.Demand{Rate: 1e6, Classes: one}},
		{"mix", load.Demand{Concurrency: 16, Classes: []load.Class{{Name: "read", Share: .7}, {Name: "write", Share: .3}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := Kind().Open(b.Context(), nil, 1)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := range b.N {
				run := platform.Run{Trial: i + 1, Block: 1, Slot: 1, Demand: c.demand, Stage: load.Stage{Length: 10 * time.Second, Interval: time.Second}}
				if _, err := p.(platform.Simulator).Simulate(b.Context(), run, measure.NewRecorder(nil)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
