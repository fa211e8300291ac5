package stat

import (
	"math"
	"slices"
)

// Line is the least-squares line through N points.
type Line struct {
	N            int
	Slope        float64
	MeanX, MeanY float64
	SpreadX      float64 // sum of squared deviations of x, in its unit squared
	Residual     float64 // sum of squared residuals, in the unit of y squared
}

// FitLine fits y = a + b*x by least squares. ok is false for fewer than two points, if all x
// are equal, if x and y differ in length, and for NaN.
//
// Source: Gauss (1809); Draper & Smith, Applied Regression Analysis, section 1.2.
func FitLine(x, y []float64) (l Line, ok bool) {
	if len(x) < 2 || len(x) != len(y) || !Finite(x) || !Finite(y) {
		return Line{}, false
	}
	l.N = len(x)
	l.MeanX, l.SpreadX = Moments(x)
	var squares, cross float64
	l.MeanY, squares = Moments(y)
	if !(l.SpreadX > 0) || math.IsInf(l.SpreadX, 1) || math.IsInf(squares, 1) {
		return Line{}, false
	}
	for i := range x {
		cross += (x[i] - l.MeanX) * (y[i] - l.MeanY)
	}
	l.Slope = cross / l.SpreadX
	for i := range x {
		r := y[i] - l.At(x[i])
		l.Residual += r * r
	}
	return l, true
}

// At returns the y of the line at x.
func (l Line) At(x float64) float64 { return l.MeanY + l.Slope*(x-l.MeanX) }

// LineLackOfFit returns the p value of the lack-of-fit test of a straight line: the deviation
// of level means from the line against the pure error of replicates. Points with equal x are
// one level. It is 1 for fewer than three levels, or without replicates.
//
// Source: Fisher (1922), The goodness of fit of regression formulae; Draper & Smith, section
// 2.1.
func LineLackOfFit(x, y []float64) float64 {
	l, ok := FitLine(x, y)
	if !ok {
		return 1
	}
	return LackOfFit(x, y, 2, l.At)
}

// LackOfFit is LineLackOfFit for any curve with k fitted coefficients.
func LackOfFit(x, y []float64, k int, curve func(float64) float64) float64 {
	levels := map[float64][]float64{}
	for i, v := range x {
		levels[v] = append(levels[v], y[i])
	}
	n, m := len(x), len(levels)
	if m <= k || n == m {
		return 1
	}
	at := make([]float64, 0, m)
	for v := range levels {
		at = append(at, v)
	}
	slices.Sort(at) // a fixed order of summation
	var pure, lack float64
	for _, v := range at {
		mean, squares := Moments(levels[v])
		pure += squares
		off := mean - curve(v)
		lack += float64(len(levels[v])) * off * off
	}
	mean, _ := Moments(y)
	tiny := 1e-24 * float64(n) * mean * mean // rounding error of a perfect fit
	switch {
	case lack <= tiny:
		return 1
	case pure == 0:
		return 0
	}
	f := lack / float64(m-k) / (pure / float64(n-m))
	return fTail(f, float64(m-k), float64(n-m))
}
