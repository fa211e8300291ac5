package stat

import (
	"math"
	"testing"
)

// tuned picks the best of ten changes on six blocks each, then verifies it on
// fresh blocks at the planned looks. It returns what the pick seemed to bring and
// whether it was kept.
func tuned(r *normal, level, effect float64) (seemed float64, kept bool) {
	seemed = math.Inf(-1)
	for range 10 {
		mean, _ := moments(differences(r, shapes()[0], 6, 0.02, effect))
		seemed = math.Max(seemed, mean)
	}
	fresh := differences(r, shapes()[0], 24, 0.02, effect)
	for _, n := range plannedLooks {
		if low, _ := VerifyOneSided(fresh[:n], level); low > 0 {
			return seemed, true
		}
	}
	return seemed, false
}

func TestUselessChangesAreRolledBackAndRealOnesKept(t *testing.T) {
	s := simulations(t)
	level := LookLevelOneSided(plannedLooks, 0.95)
	s.within(t, "useless change kept", s.either(0.034, 0.0464), s.either(0.066, 0.0536), func(r *normal) float64 {
		return s.share(func() bool { _, kept := tuned(r, level, 0); return kept })
	})
	s.within(t, "+5 % kept", 0.90, 1, func(r *normal) float64 {
		return s.share(func() bool { _, kept := tuned(r, level, math.Log1p(0.05)); return kept })
	})
	s.within(t, "what the best useless change seems to bring", 0.0165, 0.0190, func(r *normal) float64 {
		var sum float64
		for range s.n {
			seemed, _ := tuned(r, level, 0)
			sum += seemed
		}
		return math.Expm1(sum / float64(s.n))
	})
}

// Verifying on the blocks that picked the change keeps most useless ones.
func TestOldBlocksWouldVerifyAnything(t *testing.T) {
	s := simulations(t)
	s.within(t, "useless change kept", 0.30, 1, func(r *normal) float64 {
		return s.share(func() bool {
			for range 10 {
				if low, _ := VerifyOneSided(differences(r, shapes()[0], 6, 0.02, 0), 0.95); low > 0 {
					return true
				}
			}
			return false
		})
	})
}

func TestVerifyOneSided(t *testing.T) {
	// t(3) at 95 % is 2.3533634; mean 2.5, sd sqrt(5/3).
	low, p := VerifyOneSided([]float64{1, 2, 3, 4}, 0.95)
	if !near(low, 2.5-2.3533634348*math.Sqrt(5.0/3)/2, 1e-9) || !near(p, PairedT([]float64{1, 2, 3, 4}, 0.95).P/2, 1e-15) {
		t.Errorf("low %g, p %g", low, p)
	}
	if _, p := VerifyOneSided([]float64{-1, -2, -3, -4}, 0.95); p < 0.95 {
		t.Errorf("a loss has p = %g", p)
	}
	for _, c := range []struct {
		d      []float64
		low, p float64
	}{
		{nil, math.Inf(-1), 1},
		{[]float64{1}, math.Inf(-1), 1},
		{[]float64{1, math.NaN()}, math.Inf(-1), 1},
		{[]float64{1, 1, 1}, 1, 0},
		{[]float64{0, 0, 0}, 0, 1},
		{[]float64{-1, -1, -1}, -1, 1},
	} {
		if low, p := VerifyOneSided(c.d, 0.95); low != c.low || p != c.p {
			t.Errorf("VerifyOneSided(%v) = %g, %g, want %g, %g", c.d, low, p, c.low, c.p)
		}
	}
}
