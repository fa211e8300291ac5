package sparkml

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The cutoffs and deviations of the published study's sensors.
func TestSensorVectors(t *testing.T) {
	for _, c := range []struct {
		n                 int
		cutoff, deviation float64
	}{{100, 2525.0, 167.9}, {1000, 250250.0, 5274.4}} {
		if got := cutoff(c.n); got != c.cutoff {
			t.Errorf("the cutoff of %d sensors is %g, want %g", c.n, got, c.cutoff)
		}
		if got := deviation(c.n); math.Abs(got-c.deviation) > .05 {
			t.Errorf("the deviation of %d sensors is %.4f, want %g", c.n, got, c.deviation)
		}
		half := make([]float64, c.n)
		for i := range half {
			half[i] = .5
		}
		if got := score(half); got != c.cutoff {
			t.Errorf("%d sensors at 0.5 have the score %g, want the cutoff %g", c.n, got, c.cutoff)
		}
	}
}

// Half of the labels are 1, within five standard errors, and the score spreads as it should.
func TestSensorLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, n = 20_000, 100
	ones, squares := 0, 0.
	for range rows {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.Float64()
		}
		s := score(x)
		if s > cutoff(n) {
			ones++
		}
		squares += (s - cutoff(n)) * (s - cutoff(n))
	}
	if share := float64(ones) / rows; math.Abs(share-.5) > 5*.5/math.Sqrt(rows) {
		t.Errorf("the share of labels 1 is %g", share)
	}
	if d := math.Sqrt(squares / rows); math.Abs(d/deviation(n)-1) > .03 {
		t.Errorf("the deviation is %g, want %g", d, deviation(n))
	}
}

// The best classifier, the sign of the sum, is right for 90 ± 1 % of rows, whatever the number of features.
func TestBayesAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, features := range []int{1, 10, 100} {
		const rows = 20_000
		right, s := 0, shift(features)
		for range rows {
			label, sum := float64(2*rng.IntN(2)-1), 0.
			for range features {
				sum += label*s + rng.NormFloat64()
			}
			if sum*label > 0 {
				right++
			}
		}
		if share := float64(right) / rows; math.Abs(share-bayes) > .01 {
			t.Errorf("with %d features the best accuracy is %g, want %g", features, share, bayes)
		}
	}
}
