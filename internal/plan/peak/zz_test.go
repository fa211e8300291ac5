package peak

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestZZ(t *testing.T) {
	for _, v := range []server{single("M/M/1", constant(1000)), single("M/M/1 fast", constant(9137)), several("M/M/2", 500, 2), several("M/M/4", 250, 4), several("M/M/16", 62.5*5, 16), several("M/M/4 fast", 1000, 4), several("M/M/64", 1000, 64), cliff("cliff queue", true), cliff("cliff slow", false), refusing(650),
		single("drift 10%", func(i int) float64 { return 1000 - 5*float64(i) }), single("drift 2%", func(i int) float64 { return 1000 - float64(i) }), single("rising", func(i int) float64 { return 1000 + 5*float64(i) }), behind(single("gen", constant(1000)), 600), behind(single("gen780", constant(1000)), 780)} {
		words := map[Word]int{}
		var cover, high rate
		var half, secs, est, sus []float64
		limiting := map[string]int{}
		why := map[string]int{}
		for i := range 500 {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			a, n := run(New(Settings{Limits: limits, Start: 100, Seed: uint64(i)}), v, r)
			words[a.Word]++
			limiting[a.Limiting]++
			truth := v.truth(n - 1)
			if a.Word == Identified {
				cover.count(a.Low <= v.truth(15) && v.truth(15) <= a.High)
				half = append(half, (a.High-a.Low)/2/v.truth(15))
				est = append(est, a.Estimate/v.truth(15))
			} else if len(a.Why) > 20 {
				why[a.Why[:20]]++
			}
			high.count(a.Sustained > 1.01*truth)
			secs = append(secs, a.Seconds)
			sus = append(sus, a.Sustained/truth)
		}
		var m float64
		for _, e := range est {
			m += e / float64(len(est))
		}
		t.Logf("%-12s %v cover %.3f mean %.4f half %.4f high %.4f sus %.3f secs %.0f %v %v", v.name, words, float64(cover.hits)/math.Max(1, float64(cover.of)), m, median(half), high.share(), median(sus), median(secs), limiting, why)
	}
}
