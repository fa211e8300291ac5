package stat

import (
	"math"
	"testing"
)

func TestSignFlip(t *testing.T) {
	ones := func(n int) []float64 {
		d := make([]float64, n)
		for i := range d {
			d[i] = 0.1
		}
		return d
	}
	for _, c := range []struct {
		d    []float64
		want float64
	}{
		{nil, 1},
		{[]float64{1}, 1},
		{ones(5), 2.0 / 32}, // five blocks never reach 5 %
		{ones(6), 2.0 / 64},
		{ones(20), 2.0 / (1 << 20)},
		{[]float64{0, 0, 0}, 1},
		{[]float64{1, -1}, 1},
		{[]float64{0.1, 0.2, -0.3}, 1}, // the sum is 0 but for rounding
		{[]float64{0.1, 0.1, 0.1, -0.1}, 10.0 / 16},
		{[]float64{1, math.NaN()}, 1},
		{[]float64{1, math.Inf(1)}, 1},
	} {
		if got := SignFlip(c.d, 1); got != c.want {
			t.Errorf("SignFlip(%v) = %g, want %g", c.d, got, c.want)
		}
	}
	if got := SignFlip(ones(30), 1); got != 1.0/100_001 {
		t.Errorf("drawn patterns: %g, want the observed one alone", got)
	}
}

// Beyond 20 blocks patterns are drawn: same seed, same answer, and near the truth,
// which for 24 blocks is within reach of the exact count.
func TestDrawnFlipsAreNearAllOfThem(t *testing.T) {
	r := newNormal(51)
	for _, n := range []int{21, 24} {
		d := differences(r, shapes()[0], n, 0.01, 0.004)
		sizes, sum, reach := make([]float64, n), 0.0, 0.0
		for i, v := range d {
			sizes[i], sum, reach = math.Abs(v), sum+v, reach+math.Abs(v)
		}
		want := 2 * float64(flipsAbove(sizes, 0, reach, math.Abs(sum)-1e-12)) / math.Exp2(float64(n))
		got := SignFlip(d, 7)
		if math.Abs(got-want) > 5*math.Sqrt(want/100_000) {
			t.Errorf("n %d: drawn %g, exact %g", n, got, want)
		}
		if again := SignFlip(d, 7); again != got {
			t.Errorf("the same seed gave %g, then %g", got, again)
		}
		if other := SignFlip(d, 8); other == got {
			t.Errorf("another seed gave the same %g", got)
		}
	}
	long := differences(r, shapes()[0], 700, 0.01, 0)
	if p, q := SignFlip(long, 1), PairedT(long, 0.95).P; math.Abs(p-q) > 0.02 {
		t.Errorf("700 blocks: %g by flips, %g by t", p, q)
	}
}
