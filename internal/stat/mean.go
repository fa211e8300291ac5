package stat

import "math"

// MeanInterval returns the arithmetic mean of x, one value per trial, and its two-sided t
// interval at the confidence level, in the unit of x. For fewer than two values the interval
// is infinite; for none the mean is NaN.
//
// Source: Student (1908).
func MeanInterval(x []float64, level float64) (mean, low, high float64) {
	p := PairedT(x, level)
	return p.Mean, p.Low, p.High
}

// LogMeanInterval returns the geometric mean of x, one positive value per trial, and the t
// interval of the mean of ln x, transformed back to the unit of x. If any value is 0 or less,
// the mean is NaN and the interval 0 to infinity.
//
// Source: Student (1908) on logarithms.
func LogMeanInterval(x []float64, level float64) (geomean, low, high float64) {
	logs := make([]float64, len(x))
	for i, v := range x {
		if !(v > 0) {
			return math.NaN(), 0, math.Inf(1)
		}
		logs[i] = math.Log(v)
	}
	p := PairedT(logs, level)
	return math.Exp(p.Mean), math.Exp(p.Low), math.Exp(p.High)
}
