package stat_test

import (
	"math"
	"testing"

	"plimsoll/internal/stat"
	"plimsoll/internal/stat/curve"
)

var kneeRates = []float64{900, 940, 980, 1020, 1060, 900, 940, 980, 1020, 1060, 900, 940, 980, 1020, 1060}

// queued is the response time with a floor and a capacity, with noise on its inverse.
func queued(x []float64, floor, wait, capacity float64, noise func() float64) []float64 {
	q := make([]float64, len(x))
	for i, v := range x {
		q[i] = 1 / (1/(floor+wait/(capacity-v)) + noise())
	}
	return q
}

func none() float64 { return 0 }

func TestFitKneeFindsWhatWasPlanted(t *testing.T) {
	for _, c := range []struct{ floor, wait, capacity, limit float64 }{
		{0, 4.6, 1230, 0.020}, {0.010, 1, 1100, 0.020}, {0.014, 0.5, 1080, 0.020}, {0.001, 0.2, 1061, 0.004},
		{10, 1000, 1100, 20}, {1e-5, 1e-3, 1100, 2e-5},
	} {
		want := c.capacity - c.wait/(c.limit-c.floor)
		k := curve.FitKnee(kneeRates, queued(kneeRates, c.floor, c.wait, c.capacity, none), c.limit, 0.95)
		if !stat.Near(k.X, want, 0.02) || !stat.Near(k.Floor/c.limit, c.floor/c.limit, 1e-3) {
			t.Errorf("%+v: met at %g with floor %g, want %g", c, k.X, k.Floor, want)
		}
	}
}

// On a line the curve is the line.
func TestFitKneeOfALine(t *testing.T) {
	r := stat.NewNormal(4)
	for range 50 {
		q := queued(kneeRates, 0, 4.6, 1230, func() float64 { return 0.5 * r.NormFloat64() })
		y := make([]float64, len(q))
		for i := range q {
			y[i] = 1 / q[i]
		}
		k, line := curve.FitKnee(kneeRates, q, 0.02, 0.95), curve.InversePrediction(kneeRates, y, 50, 0.95)
		if k.Floor == 0 && !stat.Near(k.X, line.X, 0.01) {
			t.Fatalf("floor %g, met at %g, the line at %g", k.Floor, k.X, line.X)
		}
		l := line.Line
		if h, ok := curve.FitHyperbola(kneeRates, q, 0.02); !ok || h.Residual > l.Residual*0.02*0.02*(1+1e-9) {
			t.Fatalf("the curve leaves %g, the line %g", h.Residual, l.Residual*0.02*0.02)
		}
	}
}

func TestFitKneeCovers(t *testing.T) {
	s := stat.Simulations(t)
	s.N /= 2
	bent, lacking, unbounded := 0.0, 0.0, 0.0
	s.Within(t, "crossing missed", 0.03, 0.07, func(r *stat.Normal) float64 {
		bent, lacking, unbounded = 0, 0, 0
		noise := func() float64 { return 1.5 * r.NormFloat64() }
		return s.Share(func() bool {
			k := curve.FitKnee(kneeRates, queued(kneeRates, 0.014, 0.5, 1080, noise), 0.020, 0.95)
			if k.Curvature < 0.05 {
				bent++
			}
			if k.LackOfFit < 0.05 {
				lacking++
			}
			if !k.Bounded() {
				unbounded++
			}
			return !k.Interval.Contains(1080 - 0.5/0.006)
		})
	})
	n := float64(s.N)
	if bent < 0.9*n || lacking > 0.075*n || unbounded > 0.01*n {
		t.Errorf("of %g: bent %g, lack of fit %g, unbounded %g", n, bent, lacking, unbounded)
	}
	s.Within(t, "a line was called bent", 0, 0.06, func(r *stat.Normal) float64 {
		noise := func() float64 { return 1.5 * r.NormFloat64() }
		return s.Share(func() bool {
			return curve.FitKnee(kneeRates, queued(kneeRates, 0, 4.6, 1230, noise), 0.020, 0.95).Curvature < 0.05
		})
	})
}

func TestFitKneeRefuses(t *testing.T) {
	for what, c := range map[string][2][]float64{
		"nothing": {nil, nil}, "three points": {{1, 2, 3}, {1, 2, 4}}, "one x": {{1, 1, 1, 1}, {3, 3, 2, 2}},
		"not a number": {{1, 2, 3, 4}, {1, math.NaN(), 3, 5}}, "zero": {{1, 2, 3, 4}, {0, 1, 2, 3}}, "lengths": {{1, 2, 3, 4}, {1}},
		"falls with the load": {{1, 2, 3, 4, 5}, {5, 4, 3, 2, 1}}, "flat": {{1, 2, 3, 4, 5}, {1, 1, 1, 1, 1}},
	} {
		if k := curve.FitKnee(c[0], c[1], 2, 0.95); k.Bounded() {
			t.Errorf("%s: %+v", what, k)
		}
	}
	if k := curve.FitKnee(kneeRates, queued(kneeRates, 0.010, 1, 1100, none), 0.009, 0.95); k.Bounded() {
		t.Errorf("a limit below the floor: %+v", k)
	}
}
