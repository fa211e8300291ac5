package stat

import "math"

// Welch compares two unpaired samples: imported data, or trials outside of blocks. Mean is
// mean(b) - mean(a), on logarithms the log-ratio of b to the baseline a. N is the size of the
// smaller sample, and SD the standard deviation of the difference of one value from each. With
// fewer than two values in one sample the interval is infinite.
//
// Without randomised blocks this is weaker evidence than PairedT, however small the p value.
//
// Source: Welch (1947), degrees of freedom of Satterthwaite (1946).
func Welch(a, b []float64, level float64) Paired {
	meanA, sdA := meanSD(a)
	meanB, sdB := meanSD(b)
	out := Paired{
		N: min(len(a), len(b)), Mean: meanB - meanA, SD: math.Hypot(sdA, sdB),
		Low: math.Inf(-1), High: math.Inf(1), P: 1,
	}
	if out.N < 2 || !Finite(a) || !Finite(b) {
		return out
	}
	nA, nB := float64(len(a)), float64(len(b))
	vA, vB := sdA*sdA/nA, sdB*sdB/nB
	se := math.Sqrt(vA + vB)
	df := nA + nB - 2
	if se > 0 {
		// Shares of the variance, not variances, so that tiny ones do not underflow.
		a, b := vA/(vA+vB), vB/(vA+vB)
		df = 1 / (a*a/(nA-1) + b*b/(nB-1))
	}
	h := HalfWidth(se, df, level)
	out.SE, out.DF, out.Low, out.High = se, df, out.Mean-h, out.Mean+h
	out.P = TwoSided(out.Mean/se, df)
	return out
}
