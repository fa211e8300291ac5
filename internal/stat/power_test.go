package stat

import (
	"fmt"
	"math"
	"testing"
)

// Rows are the CV of a trial, columns the effect that is told from none.
func TestBlocksNeeded(t *testing.T) {
	effects := []float64{0.01, 0.02, 0.05, 0.10, 0.20}
	for cv, want := range map[float64][]int{
		0.01: {19, 7, 4, 4, 3},
		0.02: {67, 19, 6, 4, 4},
		0.05: {400, 103, 20, 7, 5},
		0.10: {1589, 404, 69, 20, 8},
	} {
		for i, effect := range effects {
			if got := BlocksNeeded(cv, effect, 0.80, 0.05); got != want[i] {
				t.Errorf("CV %g, effect %g: %d, want %d", cv, effect, got, want[i])
			}
		}
	}
}

func TestBlocksNeededHaveThePower(t *testing.T) {
	s := Simulations(t)
	for _, c := range []struct{ cv, effect, power float64 }{
		{0.02, 0.05, 0.8}, {0.02, 0.02, 0.8}, {0.05, 0.10, 0.8}, {0.05, -0.10, 0.9},
	} {
		power := func(n int) func(r *normal) float64 {
			return func(r *normal) float64 {
				return s.Share(func() bool {
					y := independent(r, 2*n, shapes()[0])
					for i := range y {
						y[i] *= c.cv
					}
					return !Contrast(balancedBlocks(y, r.Uint64(), math.Log1p(c.effect)), 0.05).Interval().Contains(0)
				})
			}
		}
		// The choice of the narrower interval gains a little that the arithmetic leaves out.
		n, slack := BlocksNeeded(c.cv, c.effect, c.power, 0.05), s.Either(0.04, 0.04)
		what := fmt.Sprintf("CV %g, effect %g, ", c.cv, c.effect)
		s.Within(t, what+"power at the number", c.power-slack, 1, power(n))
		s.Within(t, what+"power one block before", 0, c.power+slack, power(n-1))
	}
}

func TestDetectableEffectUndoesBlocksNeeded(t *testing.T) {
	for _, cv := range []float64{0.005, 0.02, 0.1} {
		for _, n := range []int{3, 6, 12, 24, 100, 2000} {
			effect := DetectableEffect(cv, n, 0.8, 0.05)
			if got := BlocksNeeded(cv, effect*(1+1e-9), 0.8, 0.05); got != n {
				t.Errorf("CV %g: %d blocks detect %g, which needs %d", cv, n, effect, got)
			}
		}
	}
}

func TestPowerOutOfReach(t *testing.T) {
	for _, got := range []int{
		BlocksNeeded(0.02, 0, 0.8, 0.05), BlocksNeeded(0.5, 1e-5, 0.8, 0.05), BlocksNeeded(math.NaN(), 0.1, 0.8, 0.05),
		BlocksNeeded(0.1, 0.1, 1, 0.05), BlocksNeeded(0.1, -1.5, 0.8, 0.05), BlocksNeeded(0.1, 0.1, 0.8, 0),
		BlocksNeeded(math.Inf(1), 0.1, 0.8, 0.05),
	} {
		if got != MostBlocks {
			t.Errorf("%d blocks, want out of reach", got)
		}
	}
	if got := BlocksNeeded(0, 0.01, 0.8, 0.05); got != 3 {
		t.Errorf("without noise %d blocks, want 3", got)
	}
	if got := DetectableEffect(0, 6, 0.8, 0.05); got != 0 {
		t.Errorf("without noise %g is detectable, want 0", got)
	}
	if got := DetectableEffect(0.1, 2, 0.8, 0.05); !math.IsInf(got, 1) {
		t.Errorf("two blocks detect %g", got)
	}
}

func TestMoreBlocks(t *testing.T) {
	effect := func(mean, sd float64, n int) Effect {
		return Effect{N: n, Mean: mean, SE: sd / math.Sqrt(float64(n))}
	}
	for _, c := range []struct {
		what   string
		e      Effect
		margin float64
		want   int
	}{
		{"decided", effect(0.1, 0.01, 9), 0.02, 0},
		{"mean 0, no margin", effect(0, 1, 9), 0, MostBlocks},
		{"mean at the margin", effect(math.Log1p(0.02), 1, 9), 0.02, MostBlocks},
		{"far away", effect(0, 1, 9), 0.0001, MostBlocks},
		{"nothing known", Contrast(nil, 0.05), 0.02, MostBlocks},
	} {
		if got := MoreBlocks(c.e, c.margin, 0.05); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	for _, mean := range []float64{0, 0.005, 0.05} { // equivalent, equivalent, better
		e := effect(mean, 0.05, 9)
		n := MoreBlocks(e, 0.02, 0.05)
		room := math.Abs(math.Log1p(0.02) - mean)
		if at, before := e.halfWidth(9+n, 0.05), e.halfWidth(8+n, 0.05); at >= room || before < room || n < 1 {
			t.Errorf("mean %g: %d more blocks leave a half-width of %g, one fewer %g, room %g", mean, n, at, before, room)
		}
	}
}

func TestMarginWithinReach(t *testing.T) {
	e := Effect{N: 9, Mean: -0.01, SE: 0.03}
	for _, n := range []int{9, 18, 24} {
		margin := MarginWithinReach(e, n, 0.02)
		h := e.halfWidth(n, 0.02)
		if Judge(e.Mean-h, e.Mean+h, margin*1.001) != Equivalent || Judge(e.Mean-h, e.Mean+h, margin*0.999) == Equivalent {
			t.Errorf("%d blocks: margin %g", n, margin)
		}
	}
	if m := MarginWithinReach(Contrast(nil, 0.05), 18, 0.05); !math.IsInf(m, 1) {
		t.Errorf("nothing known: %g", m)
	}
}
