package peak

import (
	"math"
	"testing"
)

// An outlier is named.
func TestOutliersAreNamed(t *testing.T) {
	var points []Point
	for level := range rungs {
		for range 3 {
			points = append(points, Point{Rate: rung(770, level), Seconds: math.Log(100) / (1000 - rung(770, level))})
		}
	}
	clean := Estimate(points, limit, .95)
	points[1].Seconds = .5
	got := Estimate(points, limit, .95)
	if math.Abs(got.Rate-clean.Rate) > 1e-6*clean.Rate || got.LeftOut() != "left out of the fit as outliers, at least 4 times slower than the other probes at their rate: 500 ms at 693/s" {
		t.Errorf("%+v: %s; without the outlier %+v", got, got.LeftOut(), clean)
	}
	points[0].Seconds = .4
	if got := Estimate(points, limit, .95); got.LeftOut() != "" {
		t.Errorf("two of three are no outliers: %s", got.LeftOut())
	}
}
