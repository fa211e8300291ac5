package stat

import (
	"math"
	"testing"
)

func TestInverseParabola(t *testing.T) {
	x := []float64{10, 11, 12, 13, 14, 15}
	of := func(f func(float64) float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = f(v)
		}
		return y
	}
	for _, c := range []struct {
		what   string
		y      []float64
		target float64
		want   float64
	}{
		{"cap", of(func(v float64) float64 { return 100 - (v-9)*(v-9) }), 84, 13},
		{"bowl", of(func(v float64) float64 { return (v - 20) * (v - 20) }), 49, 13},
		{"line", of(func(v float64) float64 { return 50 - 2*v }), 25, 12.5},
		{"top before the data", of(func(v float64) float64 { return 100 - (v-12)*(v-12) }), 96, 14},
		{"never there", of(func(v float64) float64 { return 100 + (v-12)*(v-12) }), 50, math.NaN()},
	} {
		if b := InverseParabola(x, c.y, c.target, 0.95); !near(b.X, c.want, 1e-6) {
			t.Errorf("%s: %g, want %g", c.what, b.X, c.want)
		}
	}
	for what, c := range map[string][2][]float64{
		"nothing": {nil, nil}, "three points": {{1, 2, 3}, {3, 2, 0}}, "two x": {{1, 1, 2, 2}, {3, 3, 2, 2}},
		"not a number": {{1, 2, 3, 4}, {4, math.NaN(), 3, 1}},
	} {
		if b := InverseParabola(c[0], c[1], 1, 0.95); b.Bounded() || !math.IsNaN(b.X) {
			t.Errorf("%s: %+v", what, b)
		}
	}
}

func TestInverseParabolaCovers(t *testing.T) {
	s := simulations(t)
	x := []float64{.9, .94, .98, 1.02, 1.06, .9, .94, .98, 1.02, 1.06, .9, .94, .98, 1.02, 1.06}
	low, high := s.nominal()
	bent, lacking := 0.0, 0.0
	s.within(t, "crossing missed", low, high, func(r *normal) float64 {
		bent, lacking = 0, 0
		return s.share(func() bool {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = 5 - 4*(v-1) - 10*(v-1)*(v-1) + 0.05*r.NormFloat64()
			}
			b := InverseParabola(x, y, 5, 0.95)
			if b.LackOfFit < 0.05 {
				lacking++
			}
			for i, v := range x { // the same noise about a line
				y[i] += 10 * (v - 1) * (v - 1)
			}
			if InverseParabola(x, y, 5, 0.95).Curvature < 0.05 {
				bent++
			}
			return !b.Interval.Contains(1)
		})
	})
	for what, count := range map[string]float64{"a line was called bent": bent, "a parabola was refused": lacking} {
		if share := count / float64(s.n); share < low || share > high {
			t.Errorf("%s in %.4f", what, share)
		}
	}
}
