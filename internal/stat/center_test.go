package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestCenter(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{3}, 3}, {[]float64{1, 3}, 2}, {[]float64{5, 5, 5, 9}, 5}, {[]float64{1, 2, 3, 4, 5}, 3}, {[]float64{1, 2, 3, 4, 5, 1e9}, 3},
	} {
		if got := Center(c.x); !Near(got, c.want, .11) {
			t.Errorf("Center(%v) = %g, want %g", c.x, got, c.want)
		}
	}
	if got := Center(nil); !math.IsNaN(got) {
		t.Errorf("Center of nothing is %g", got)
	}
}

// The center moves and stretches with the values, does not depend on their order, and
// is near the mean where no value is outlying.
func TestCenterIsALocation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 200 {
		x, moved := make([]float64, 3+r.IntN(40)), []float64(nil)
		sum := 0.0
		for i := range x {
			x[i] = r.NormFloat64()
			sum += x[i]
		}
		for _, v := range x {
			moved = append(moved, 7-3*v)
		}
		r.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
		got, n := Center(x), float64(len(x))
		if !Near(Center(moved), 7-3*got, 1e-6) {
			t.Fatalf("Center(%v) = %g, of 7-3x %g", x, got, Center(moved))
		}
		if math.Abs(got-sum/n) > 1.2/math.Sqrt(n) {
			t.Errorf("the center of %d normal values is %g, their mean %g", len(x), got, sum/n)
		}
	}
}
