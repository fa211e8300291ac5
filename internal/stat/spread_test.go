package stat

import (
	"math"
	"testing"
)

func TestSpreadOf(t *testing.T) {
	for _, c := range []struct {
		parts []float64
		want  Spread
	}{
		{[]float64{5, 5, 5, 5}, Spread{.25, 0, 4}},
		{[]float64{0, 12, 0, 0}, Spread{1, .75, 1}},
		{[]float64{7}, Spread{1, 0, 1}},
		{[]float64{1, 3}, Spread{.75, .25, 2}}, // mean difference 2 by 2 x mean 2, over 2 values
		{[]float64{90, 5, 5}, Spread{.9, 17. / 30, 1}},
	} {
		got, ok := SpreadOf(c.parts, .9)
		if !ok || math.Abs(got.Busiest-c.want.Busiest) > 1e-12 || math.Abs(got.Gini-c.want.Gini) > 1e-12 || got.Carrying != c.want.Carrying {
			t.Errorf("%v: %+v, want %+v", c.parts, got, c.want)
		}
	}
	for _, parts := range [][]float64{nil, {0, 0}, {-1, 3}} {
		if s, ok := SpreadOf(parts, .9); ok {
			t.Errorf("%v has a spread: %+v", parts, s)
		}
	}
}

// Beyond agrees with the t test at a threshold of 0, and with its definition beyond.
func TestBeyond(t *testing.T) {
	if p, x := Beyond(.3, .1, 7, 0); math.Abs(p-TwoSided(3, 7)) > 1e-12 || math.Abs(x-3) > 1e-12 {
		t.Errorf("p %v, t %v", p, x)
	}
	if p, _ := Beyond(-.3, .1, 7, .1); math.Abs(p-(TwoSided(2, 7)+TwoSided(4, 7))/2) > 1e-12 {
		t.Errorf("p %v", p)
	}
	if p, x := Beyond(.05, .1, 7, .1); !(p > .5) || !(x < 0) {
		t.Errorf("within the threshold: p %v, t %v", p, x)
	}
	if p, _ := Beyond(.1, 0, 7, .1); !math.IsNaN(p) {
		t.Errorf("without a standard error: %v", p)
	}
}
