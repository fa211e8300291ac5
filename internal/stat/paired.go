package stat

import "math"

// Paired is the mean of paired differences with its t interval and test. For
// log-ratios, 100*(exp(Mean)-1) is the effect in percent of the baseline.
type Paired struct {
	N         int     // differences: blocks
	Mean      float64 // NaN without differences
	SD        float64 // standard deviation of one difference; NaN below two
	SE, DF    float64 // standard error of the mean and its degrees of freedom; 0 if undetermined
	Low, High float64 // confidence interval of the mean; infinite if undetermined
	P         float64 // two-sided, of mean 0
}

// PairedT returns the mean of d with the two-sided t interval at the confidence level and the
// p value of the t test. d holds one difference per block, usually ln(arm) - ln(baseline). For
// fewer than two values, or with NaN, the interval is infinite and P is 1.
//
// If all differences are equal the interval has width 0: the caller decides whether such a
// coarse metric can carry a verdict.
//
// Source: Student (1908), one-sample t on the differences.
func PairedT(d []float64, level float64) Paired {
	n := len(d)
	mean, sd := meanSD(d)
	out := Paired{N: n, Mean: mean, SD: sd, Low: math.Inf(-1), High: math.Inf(1), P: 1}
	if n < 2 || !Finite(d) {
		return out
	}
	return out.withSpread(sd, float64(n-1), level)
}

// withSpread sets the interval and the test from the mean and a standard deviation with df
// degrees of freedom.
func (p Paired) withSpread(sd, df, level float64) Paired {
	se := sd / math.Sqrt(float64(p.N))
	h := HalfWidth(se, df, level)
	p.SD, p.SE, p.DF, p.Low, p.High = sd, se, df, p.Mean-h, p.Mean+h
	p.P = TwoSided(p.Mean/se, df) // 0/0 is NaN and counts as P = 1
	return p
}
