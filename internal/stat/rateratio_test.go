package stat

import (
	"math"
	"testing"
)

func TestRateRatio(t *testing.T) {
	// R: poisson.test(c(11, 6+8+7), c(800, 1083+1050+878)), NHANES example of rateratio.test.
	ratio, low, high := RateRatio(Rate{21, 3011}, Rate{11, 800}, .95)
	for _, c := range []struct{ got, want float64 }{{ratio, 1.971488}, {low, 0.8584264}, {high, 4.277268}} {
		if math.Abs(c.got/c.want-1) > 1e-4 {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if r, low, high := RateRatio(Rate{0, 10}, Rate{8, 10}, .95); !math.IsInf(r, 1) || !(low > 1) || !math.IsInf(high, 1) {
		t.Errorf("none against eight: %v from %v to %v", r, low, high)
	}
	if r, low, high := RateRatio(Rate{0, 10}, Rate{0, 10}, .95); !math.IsNaN(r) || low != 0 || !math.IsInf(high, 1) {
		t.Errorf("no events: %v from %v to %v", r, low, high)
	}
}

func TestSteinPAgreesWithItsInterval(t *testing.T) {
	d := []float64{.01, .03, .02, .05, -.01, .02, .03, .04, .02, .01, .03}
	p := steinP(d, 6)
	for _, c := range []struct {
		level    float64
		excludes bool
	}{{1 - p - 1e-6, true}, {1 - p + 1e-6, false}} {
		if _, low, _ := SteinInterval(d, 6, c.level); (low > 0) != c.excludes {
			t.Errorf("p %v: the interval at %v starts at %v", p, c.level, low)
		}
	}
}

func TestRateRatioOfManyEvents(t *testing.T) {
	// For large counts ln ratio is normal with variance 1/kA + 1/kB.
	for _, n := range []int64{10_000, 10_000_000, 10_000_000_000} {
		for _, level := range []float64{0.95, 0.999999} {
			ratio, low, high := RateRatio(Rate{n, 1}, Rate{2 * n, 1}, level)
			h := TQuantile(0.5+level/2, math.Inf(1)) * math.Sqrt(1.5/float64(n))
			if ratio != 2 || math.Abs(math.Log(low/2)/-h-1) > 0.03 || math.Abs(math.Log(high/2)/h-1) > 0.03 {
				t.Errorf("%d events at %g: %v from %v to %v, half-width %g", n, level, ratio, low, high, h)
			}
		}
	}
}

func TestRateRatioInvertsToOne(t *testing.T) {
	r := source(61)
	for range 300 {
		a, b := int64(1+r.IntN(500)), int64(1+r.IntN(500))
		ratio, low, high := RateRatio(Rate{a, 2}, Rate{b, 3}, 0.9)
		back, backLow, backHigh := RateRatio(Rate{b, 3}, Rate{a, 2}, 0.9)
		if !Near(ratio*back, 1, 1e-9) || !Near(low*backHigh, 1, 1e-9) || !Near(high*backLow, 1, 1e-9) || !(low < ratio && ratio < high) {
			t.Fatalf("%d and %d: %g in %g..%g, swapped %g in %g..%g", a, b, ratio, low, high, back, backLow, backHigh)
		}
	}
}
