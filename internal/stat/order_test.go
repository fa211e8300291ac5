package stat

import (
	"fmt"
	"testing"
)

// campaign is a testbed on which both arms are equal.
type campaign struct{ drift, phi, slot float64 }

func (c campaign) String() string {
	return fmt.Sprintf("drift %g %%, AR %g, second slot %g %%", 100*c.drift, c.phi, 100*c.slot)
}

const campaignBlocks = 8

// grid is S1 of the methods: run noise 1 %, and everything that a testbed does
// while the arms are equal.
func grid() []campaign {
	var out []campaign
	for _, drift := range []float64{0, 0.02, 0.05} {
		for _, phi := range []float64{0, 0.7} {
			for _, slot := range []float64{0, 0.02} {
				out = append(out, campaign{drift, phi, slot})
			}
		}
	}
	return out
}

// run returns ln y of each slot in order of time.
func (c campaign) run(r *normal) []float64 {
	y := autoregressive(r, 2*campaignBlocks, c.phi)
	for i := range y {
		y[i] = 0.01*y[i] + c.drift*float64(i)/float64(len(y)-1)
		if i%2 == 1 {
			y[i] += c.slot
		}
	}
	return y
}

// orders says which slots the i-th run of the baseline and of the arm take.
var orders = map[string]func(i int, seed uint64) (a, b int){
	"sequential": func(i int, _ uint64) (a, b int) { return i, i + campaignBlocks },
	"ABAB":       func(i int, _ uint64) (a, b int) { return 2 * i, 2*i + 1 },
	"ABBA":       func(i int, _ uint64) (a, b int) { return 2*i + i%2, 2*i + 1 - i%2 },
	"random": func(i int, seed uint64) (a, b int) {
		order := Shuffle(2, seed, i)
		return 2*i + order[0], 2*i + order[1]
	},
}

// falsePositives returns how often the order calls equal arms different, by t and
// by signed ranks.
func (c campaign) falsePositives(s tier, r *normal, order string) (byT, byRank float64) {
	ranks := 0
	byT = s.Share(func() bool {
		y, seed := c.run(r), r.Uint64()
		d := make([]float64, campaignBlocks)
		for i := range d {
			a, b := orders[order](i, seed)
			d[i] = y[b] - y[a]
		}
		if SignedRank(d) <= 0.05 {
			ranks++
		}
		return PairedT(d, 0.95).P <= 0.05
	})
	return byT, float64(ranks) / float64(s.N)
}

func TestRandomBlocksKeepTheirErrorWhateverTheTestbedDoes(t *testing.T) {
	s := Simulations(t)
	for _, c := range grid() {
		low, high := s.Nominal()
		if c.slot > 0 {
			// The blocks' differences then have two modes, and t is a little
			// liberal: 5.4 % without and 5.9 % with correlation. Signed ranks are not.
			low, high = 0.034, 0.066
		}
		s.Within(t, "random, "+c.String(), low, high, func(r *normal) float64 {
			v, _ := c.falsePositives(s, r, "random")
			return v
		})
		// With 8 blocks the largest reachable level up to 5 % is 12/256.
		s.Within(t, "random by signed ranks, "+c.String(), 12.0/256-s.Either(0.016, 0.0036), 12.0/256+s.Either(0.016, 0.0036), func(r *normal) float64 {
			_, v := c.falsePositives(s, r, "random")
			return v
		})
	}
}

func TestOtherOrdersAreFooled(t *testing.T) {
	s := Simulations(t)
	for _, c := range []struct {
		order     string
		testbed   campaign
		low, high float64
	}{
		{"sequential", campaign{0.02, 0, 0}, 0.42, 0.50},
		{"sequential", campaign{0.05, 0, 0}, 0.97, 1},
		{"ABAB", campaign{0, 0, 0.02}, 0.90, 0.96},
		{"ABAB", campaign{0.05, 0.7, 0}, 0.08, 0.25},
	} {
		s.Within(t, c.order+", "+c.testbed.String(), c.low, c.high, func(r *normal) float64 {
			v, _ := c.testbed.falsePositives(s, r, c.order)
			return v
		})
	}
}

// Windows of a run share what the run was dealt: 6 runs of 30 windows are 6 values.
func TestWindowsAreNotTrials(t *testing.T) {
	s := Simulations(t)
	compare := func(r *normal, pooled bool) bool {
		var arms [2][]float64
		for a := range arms {
			for range 6 {
				run := 0.01 * r.NormFloat64()
				windows := make([]float64, 30)
				for i := range windows {
					windows[i] = run + 0.01*r.NormFloat64()
				}
				if mean, _ := Moments(windows); pooled {
					arms[a] = append(arms[a], windows...)
				} else {
					arms[a] = append(arms[a], mean)
				}
			}
		}
		return Welch(arms[0], arms[1], 0.95).P <= 0.05
	}
	s.Within(t, "180 windows as values", 0.55, 0.70, func(r *normal) float64 {
		return s.Share(func() bool { return compare(r, true) })
	})
	s.Within(t, "6 runs as values", 0.03, 0.06, func(r *normal) float64 {
		return s.Share(func() bool { return compare(r, false) })
	})
}
