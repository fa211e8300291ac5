package stat

import "math"

// Beyond returns the two-sided p value of the hypothesis that the true mean is within least of
// 0, and the t statistic of its nearer end; t is negative for an estimate within least. Rankings
// by it favour neither tiny changes that are precise nor large ones that are noise. It is
// conservative. NaN without a standard error.
//
// Source: McCarthy & Smyth (2009), Testing significance relative to a fold-change threshold is
// a TREAT, section 2.
func Beyond(mean, se, df, least float64) (p, t float64) {
	if !(se > 0) || !(df > 0) {
		return math.NaN(), math.NaN()
	}
	near, far := (math.Abs(mean)-least)/se, (math.Abs(mean)+least)/se
	return upper(near, df) + upper(far, df), near
}

// upper is the probability that Student's t exceeds a value.
func upper(t, df float64) float64 {
	if t < 0 {
		return 1 - TwoSided(t, df)/2
	}
	return TwoSided(t, df) / 2
}
