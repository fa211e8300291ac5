package curve

import (
	"math"

	"plimsoll/internal/stat"
)

// Inverse is an inverse prediction: the x at which a line reaches a target, with its interval.
type Inverse struct {
	Line      stat.Line
	X         float64       // (target - a)/b, in the unit of x; NaN for a flat line
	Interval  stat.Interval // of X at the requested level; infinite if unbounded
	G         float64       // squared relative half-width of the slope; at 1 and above the slope may be 0 and no x is identified
	LackOfFit float64       // p value of the lack-of-fit test; 1 without replicates
}

// Bounded reports whether the slope is known well enough for an interval to exist.
func (i Inverse) Bounded() bool { return i.G < 1 }

// InversePrediction fits y = a + b*x by least squares and returns the x at which the line
// reaches the target, an exact number, with its interval at the confidence level. The interval
// contains the x whose fitted y is not significantly different from the target, and is not
// symmetric. For fewer than three points, and where FitLine fails, G is infinite.
//
// Source: Fieller (1954), Some problems in interval estimation; Draper & Smith, Applied
// Regression Analysis, section 3.2, inverse regression.
func InversePrediction(x, y []float64, target, level float64) Inverse {
	out := Inverse{
		X: math.NaN(), Interval: stat.Interval{Low: math.Inf(-1), High: math.Inf(1)},
		G: math.Inf(1), LackOfFit: 1,
	}
	l, ok := stat.FitLine(x, y)
	if !ok {
		return out
	}
	out.Line, out.LackOfFit = l, stat.LineLackOfFit(x, y)
	if l.Slope == 0 || math.IsNaN(target) || math.IsInf(target, 0) {
		return out
	}
	d := (target - l.MeanY) / l.Slope // from the mean of x to the answer
	out.X = l.MeanX + d
	if l.N < 3 {
		return out
	}
	// Half-width of the fitted y for a standard error of 1.
	h := stat.HalfWidth(math.Sqrt(l.Residual/float64(l.N-2)), float64(l.N-2), level) / math.Abs(l.Slope)
	out.G = h * h / l.SpreadX
	if out.G < 1 {
		root := h * math.Sqrt((1-out.G)/float64(l.N)+d*d/l.SpreadX)
		out.Interval = stat.Interval{Low: l.MeanX + (d-root)/(1-out.G), High: l.MeanX + (d+root)/(1-out.G)}
	}
	return out
}
