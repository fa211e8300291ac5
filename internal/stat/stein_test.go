package stat

import (
	"fmt"
	"testing"
)

func TestSteinCoversAndKeepsItsWidth(t *testing.T) {
	s := Simulations(t)
	const truth = 5
	for _, pilot := range []int{6, 8, 10} {
		for _, width := range []float64{0.4, 0.5, 0.8} {
			s.Within(t, fmt.Sprintf("pilot %d, half-width %g sd", pilot, width), s.Either(0.934, 0.9464), s.Either(0.966, 0.9536),
				func(r *normal) float64 {
					return s.Share(func() bool {
						all := make([]float64, pilot, 200)
						for i := range all {
							all[i] = truth + r.NormFloat64()
						}
						for range SteinTotal(all, width, 0.95) - pilot {
							all = append(all, truth+r.NormFloat64())
						}
						mean, low, high := SteinInterval(all, pilot, 0.95)
						if high-mean > width*(1+1e-9) {
							t.Errorf("half-width %g, asked for %g", high-mean, width)
						}
						return low <= truth && truth <= high
					})
				})
		}
	}
}

// Stopping when the interval is narrow enough, the obvious way, misses more often.
func TestStoppingAtAWidthWouldNotCover(t *testing.T) {
	s := Simulations(t)
	s.Within(t, "coverage", 0.90, 0.945, func(r *normal) float64 {
		return s.Share(func() bool {
			x := []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			for {
				mean, low, high := MeanInterval(x, 0.95)
				if high-mean <= 0.5 || len(x) == 200 {
					return low <= 0 && 0 <= high
				}
				x = append(x, r.NormFloat64())
			}
		})
	})
}

func TestSteinTotal(t *testing.T) {
	pilot := []float64{9, 10, 11} // sd 1, t(2) at 97.5 % is 4.302653
	for _, c := range []struct {
		pilot []float64
		half  float64
		want  int
	}{
		{pilot, 1, 19}, // 18.51
		{pilot, 4.302653, 3},
		{pilot, 1e-9, MostBlocks},
		{pilot, 0, MostBlocks},
		{pilot, -1, MostBlocks},
		{pilot[:1], 1, MostBlocks},
		{[]float64{2, 2, 2, 2}, 0.1, 4},
	} {
		if got := SteinTotal(c.pilot, c.half, 0.95); got != c.want {
			t.Errorf("SteinTotal(%v, %g) = %d, want %d", c.pilot, c.half, got, c.want)
		}
	}
	if _, low, high := SteinInterval(pilot, 4, 0.95); low > -1e300 || high < 1e300 {
		t.Errorf("an interval %g..%g from a pilot larger than all", low, high)
	}
}
