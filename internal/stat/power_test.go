package stat

import (
	"fmt"
	"math"
	"testing"
)

// The planner's table: rows are the CV of a run, columns the effect.
func TestBlocksNeededReproducesTheTable(t *testing.T) {
	effects := []float64{0.01, 0.02, 0.05, 0.10, 0.20}
	for cv, want := range map[float64][]int{
		0.01: {18, 7, 3, 3, 3},
		0.02: {66, 19, 5, 3, 3},
		0.05: {399, 103, 19, 7, 4},
		0.10: {1588, 403, 68, 20, 7},
	} {
		for i, effect := range effects {
			if got := BlocksNeeded(cv, effect, 0.80, 0.05); got < want[i]-1 || got > want[i]+1 {
				t.Errorf("CV %g, effect %g: %d, want %d", cv, effect, got, want[i])
			}
		}
	}
}

func TestBlocksNeededHaveThePower(t *testing.T) {
	s := simulations(t)
	for _, c := range []struct{ cv, effect, power float64 }{
		{0.02, 0.05, 0.8}, {0.02, 0.02, 0.8}, {0.05, 0.10, 0.8}, {0.05, -0.10, 0.9},
	} {
		power := func(n int) func(r *normal) float64 {
			return func(r *normal) float64 {
				return s.share(func() bool {
					return PairedT(differences(r, shapes()[0], n, c.cv, math.Log1p(c.effect)), 0.95).P <= 0.05
				})
			}
		}
		n, slack := BlocksNeeded(c.cv, c.effect, c.power, 0.05), s.either(0.03, 0.007)
		what := fmt.Sprintf("CV %g, effect %g, ", c.cv, c.effect)
		s.within(t, what+"power at the number", c.power-slack, 1, power(n))
		s.within(t, what+"power one block before", 0, c.power+slack, power(n-1))
	}
}

func TestDetectableEffectUndoesBlocksNeeded(t *testing.T) {
	for _, cv := range []float64{0.005, 0.02, 0.1} {
		for _, n := range []int{2, 6, 12, 24, 100, 2000} {
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
	if got := BlocksNeeded(0, 0.01, 0.8, 0.05); got != 2 {
		t.Errorf("without noise %d blocks, want 2", got)
	}
	if got := DetectableEffect(0, 6, 0.8, 0.05); got != 0 {
		t.Errorf("without noise %g is detectable, want 0", got)
	}
	if got := DetectableEffect(0.1, 1, 0.8, 0.05); !math.IsInf(got, 1) {
		t.Errorf("one block detects %g", got)
	}
}

func TestMoreBlocks(t *testing.T) {
	for _, c := range []struct {
		what   string
		d      []float64
		margin float64
		want   int
	}{
		{"decided", []float64{0.1, 0.11, 0.1, 0.09, 0.1, 0.1}, 0.02, 0},
		{"decided, but below the floor", []float64{0.1, 0.11, 0.1}, 0.02, 3},
		{"one block", []float64{0.1}, 0.02, 5},
		{"none", nil, 0.02, 6},
		{"mean 0, no margin", []float64{1, -1, 1, -1, 1, -1}, 0, MostBlocks},
		{"not a number", []float64{1, math.NaN(), 1, -1, 1, -1}, 0.02, MostBlocks},
		{"far away", []float64{1, -1, 1, -1, 1, -1}, 0.0001, MostBlocks},
	} {
		if got := MoreBlocks(c.d, c.margin, 0.95); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
	// Mean 0.005 and sd 0.02 against 2 %: the interval fits once t*sd/sqrt(N) is
	// below ln 1.02 - 0.005, that is from 10 blocks on.
	d := []float64{0.005 + 0.02, 0.005 - 0.02, 0.005 + 0.02, 0.005 - 0.02, 0.005 + 0.02, 0.005 - 0.02}
	n := MoreBlocks(d, 0.02, 0.95)
	_, sd := meanSD(d)
	room := math.Log1p(0.02) - 0.005
	if h := halfWidth(sd/math.Sqrt(float64(6+n)), float64(5+n), 0.95); h >= room {
		t.Errorf("%d more blocks leave a half-width of %g, room %g", n, h, room)
	}
	if h := halfWidth(sd/math.Sqrt(float64(5+n)), float64(4+n), 0.95); h < room {
		t.Errorf("%d more blocks are one too many", n)
	}
}
