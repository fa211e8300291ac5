package stat

import (
	"math"
	"testing"
)

func TestRateRatio(t *testing.T) {
	// R: poisson.test(c(11, 6+8+7), c(800, 1083+1050+878)), NHANES example of rateratio.test.
	ratio, low, high := RateRatio(21, 3011, 11, 800, .95)
	for _, c := range []struct{ got, want float64 }{{ratio, 1.971488}, {low, 0.8584264}, {high, 4.277268}} {
		if math.Abs(c.got/c.want-1) > 1e-4 {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if r, low, high := RateRatio(0, 10, 8, 10, .95); !math.IsInf(r, 1) || !(low > 1) || !math.IsInf(high, 1) {
		t.Errorf("none against eight: %v from %v to %v", r, low, high)
	}
	if r, low, high := RateRatio(0, 10, 0, 10, .95); !math.IsNaN(r) || low != 0 || !math.IsInf(high, 1) {
		t.Errorf("no events: %v from %v to %v", r, low, high)
	}
}

func TestSteinPAgreesWithItsInterval(t *testing.T) {
	d := []float64{.01, .03, .02, .05, -.01, .02, .03, .04, .02, .01, .03}
	p := SteinP(d, 6)
	for _, c := range []struct {
		level    float64
		excludes bool
	}{{1 - p - 1e-6, true}, {1 - p + 1e-6, false}} {
		if _, low, _ := SteinInterval(d, 6, c.level); (low > 0) != c.excludes {
			t.Errorf("p %v: the interval at %v starts at %v", p, c.level, low)
		}
	}
}
