package curve

import (
	"math"

	"plimsoll/internal/stat"
)

// Inverse is where a line reaches a target: the answer to "at which x is y the
// target", with the interval of that x.
type Inverse struct {
	Line      stat.Line
	X         float64       // (target - a)/b, in the unit of x; NaN for a flat line
	Interval  stat.Interval // of X at the level asked for; infinite where it is not bounded
	G         float64       // squared relative half-width of the slope; at 1 and above the slope may be 0 and no x is identified
	LackOfFit float64       // p value of the line being the right shape; 1 where there are no replicates to judge by
}

// Bounded reports whether the slope is known well enough for an interval to exist.
func (i Inverse) Bounded() bool { return i.G < 1 }

// InversePrediction fits y = a + b*x by least squares and returns the x at which
// the line reaches the target, a known number and not itself a measurement, with
// its interval at the confidence level. The interval holds those x whose fitted
// height is not significantly different from the target, and is not symmetric. It
// needs three points; below, and where FitLine refuses, nothing is identified and G is infinite.
//
// Source: Fieller (1954), Some problems in interval estimation; Draper & Smith,
// Applied Regression Analysis, section 3.2, inverse regression.
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
	// Half-width of the fitted height where one unit of its own standard error is 1.
	h := stat.HalfWidth(math.Sqrt(l.Residual/float64(l.N-2)), float64(l.N-2), level) / math.Abs(l.Slope)
	out.G = h * h / l.SpreadX
	if out.G < 1 {
		root := h * math.Sqrt((1-out.G)/float64(l.N)+d*d/l.SpreadX)
		out.Interval = stat.Interval{Low: l.MeanX + (d-root)/(1-out.G), High: l.MeanX + (d+root)/(1-out.G)}
	}
	return out
}
