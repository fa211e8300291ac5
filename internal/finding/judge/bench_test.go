package judge

import "testing"

func BenchmarkJudge(b *testing.B) {
	for _, c := range []struct {
		name   string
		blocks int
	}{{"1,000 trials", 500}, {"10,000 trials", 5000}, {"100,000 trials", 50000}} {
		b.Run(c.name, func(b *testing.B) {
			made := world{seed: 3, blocks: c.blocks, arms: []float64{1, 1.05}, cv: .02, counters: 100}.build()
			b.ResetTimer()
			for b.Loop() {
				judged(made)
			}
		})
	}
}
