package stat_test

import (
	"math"
	"testing"

	"plimsoll/internal/stat"
	"plimsoll/internal/stat/curve"
)

// Draper & Smith's formula written in the other of its two usual forms, solved by
// search: the ends are where the fitted height is just significantly off the target.
func TestInversePredictionAgainstItsDefinition(t *testing.T) {
	r := stat.NewNormal(2)
	bounded := 0
	for range 300 {
		n := 3 + r.IntN(15)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = 100 + 10*r.Float64()
			y[i] = 50 - 0.3*x[i] + 0.8*r.NormFloat64()
		}
		target := 18 + r.Float64()
		i := curve.InversePrediction(x, y, target, 0.95)
		if !i.Bounded() {
			continue
		}
		bounded++
		l := i.Line
		s := math.Sqrt(l.Residual / float64(n-2))
		off := func(at float64) float64 {
			se := s * math.Sqrt(1/float64(n)+(at-l.MeanX)*(at-l.MeanX)/l.SpreadX)
			return math.Abs(l.At(at)-target) / se
		}
		want := stat.TQuantile(0.975, float64(n-2))
		for _, end := range []float64{i.Interval.Low, i.Interval.High} {
			if !stat.Near(off(end), want, 1e-6*want) {
				t.Fatalf("end %g is %g standard errors off, want %g", end, off(end), want)
			}
		}
		if !i.Interval.Contains(i.X) || !stat.Near(l.At(i.X), target, 1e-9) {
			t.Fatalf("%g in %v", i.X, i.Interval)
		}
	}
	if bounded < 100 {
		t.Errorf("only %d intervals exist", bounded)
	}
}

func TestInversePredictionCovers(t *testing.T) {
	s := stat.Simulations(t)
	x := []float64{.9, .94, .98, 1.02, 1.06, .9, .94, .98, 1.02, 1.06, .9, .94, .98, 1.02, 1.06}
	low, high := s.Nominal()
	rejected := 0.0
	s.Within(t, "crossing missed", low, high, func(r *stat.Normal) float64 {
		rejected = 0
		return s.Share(func() bool {
			y := make([]float64, len(x))
			for i := range x {
				y[i] = 10 * (1.3 - x[i] + 0.02*r.NormFloat64())
			}
			i := curve.InversePrediction(x, y, 3, 0.95)
			if i.LackOfFit < 0.05 {
				rejected++
			}
			return !i.Interval.Contains(1)
		})
	})
	if share := rejected / float64(s.N); share < low || share > high {
		t.Errorf("a straight line was called bent in %.4f", share)
	}
}

func TestInversePredictionThatIsNotIdentified(t *testing.T) {
	for _, c := range []struct {
		what string
		x, y []float64
		g    float64
	}{
		{"nothing", nil, nil, math.Inf(1)},
		{"one point", []float64{1}, []float64{1}, math.Inf(1)},
		{"two points", []float64{1, 2}, []float64{2, 1}, math.Inf(1)},
		{"one x", []float64{1, 1, 1}, []float64{1, 2, 3}, math.Inf(1)},
		{"flat", []float64{1, 2, 3}, []float64{5, 5, 5}, math.Inf(1)},
		{"not a number", []float64{1, 2, 3}, []float64{5, math.NaN(), 5}, math.Inf(1)},
	} {
		i := curve.InversePrediction(c.x, c.y, 1.5, 0.95)
		if i.G != c.g || i.Bounded() || !math.IsInf(i.Interval.Low, -1) || !math.IsInf(i.Interval.High, 1) {
			t.Errorf("%s: %+v", c.what, i)
		}
	}
	noisy := curve.InversePrediction([]float64{1, 2, 3, 4}, []float64{1, 3, 0, 2}, 1.5, 0.95)
	if noisy.Bounded() || !(noisy.G >= 1) {
		t.Errorf("noise has a slope: %+v", noisy)
	}
	exact := curve.InversePrediction([]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, 1.5, 0.95)
	if !stat.Near(exact.X, 3.5, 1e-12) || !stat.Near(exact.Interval.Low, 3.5, 1e-9) || !stat.Near(exact.Interval.High, 3.5, 1e-9) {
		t.Errorf("a perfect line: %+v", exact)
	}
}

// The worked example of a lack-of-fit test in the NIST/SEMATECH handbook style: by
// hand, three levels with two replicates each. Means 1, 4, 1 about a flat line at 2:
// lack 2*(1+4+1) = 12 on 1 degree, pure error 6*0.25 = 1.5 on 3: F = 24, p = 0.01628.
func TestLackOfFit(t *testing.T) {
	x := []float64{1, 1, 2, 2, 3, 3}
	y := []float64{0.5, 1.5, 3.5, 4.5, 0.5, 1.5}
	// F with 1 and 3 degrees is the square of Student's t with 3.
	if got, want := stat.LineLackOfFit(x, y), stat.TwoSided(math.Sqrt(24), 3); !stat.Near(got, want, 1e-9) {
		t.Errorf("p = %g, want %g", got, want)
	}
	for _, c := range []struct {
		what string
		x, y []float64
		want float64
	}{
		{"no replicates", []float64{1, 2, 3}, []float64{1, 5, 1}, 1},
		{"two levels", []float64{1, 1, 2, 2}, []float64{1, 2, 3, 4}, 1},
		{"replicates alike, bent", []float64{1, 1, 2, 2, 3, 3}, []float64{1, 1, 5, 5, 1, 1}, 0},
		{"replicates alike, straight", []float64{1, 1, 2, 2, 3, 3}, []float64{1, 1, 2, 2, 3, 3}, 1},
		{"nothing", nil, nil, 1},
	} {
		if got := stat.LineLackOfFit(c.x, c.y); got != c.want {
			t.Errorf("%s: p = %g, want %g", c.what, got, c.want)
		}
	}
}

func TestEfficiency(t *testing.T) {
	s := stat.Simulations(t)
	low, high := s.Nominal()
	runs := func(r *stat.Normal, n int, level float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = level * math.Exp(0.03*r.NormFloat64())
		}
		return x
	}
	s.Within(t, "efficiency missed", low-0.015, high, func(r *stat.Normal) float64 {
		return s.Share(func() bool {
			_, i := curve.Efficiency(runs(r, 4, 100), runs(r, 5, 640), 8, 0.95)
			return !i.Contains(0.8)
		})
	})
	s.Within(t, "efficiency in blocks missed", low, high, func(r *stat.Normal) float64 {
		return s.Share(func() bool {
			one, many := runs(r, 6, 100), runs(r, 6, 640)
			for b := range one {
				host := 1 + 0.3*r.Float64()
				one[b], many[b] = one[b]*host, many[b]*host
			}
			_, i := curve.EfficiencyPaired(one, many, 8, 0.95)
			return !i.Contains(0.8)
		})
	})
	if e, _ := curve.Efficiency([]float64{10, 10}, []float64{40, 40}, 4, 0.95); !stat.Near(e, 1, 1e-12) {
		t.Errorf("the ideal line has efficiency %g", e)
	}
	for _, bad := range [][2][]float64{{{1, 0}, {1, 2}}, {nil, {1}}, {{1}, {2}}} {
		if _, i := curve.Efficiency(bad[0], bad[1], 2, 0.95); i.Low != 0 || !math.IsInf(i.High, 1) {
			t.Errorf("%v: %v", bad, i)
		}
		if _, i := curve.EfficiencyPaired(bad[0], bad[1], 2, 0.95); i.Low != 0 || !math.IsInf(i.High, 1) {
			t.Errorf("%v in blocks: %v", bad, i)
		}
	}
}
