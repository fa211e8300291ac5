package stat

import "math"

// VerifyOneSided returns the lower confidence bound of the mean of d and the p
// value of its being 0 or less. d holds one log-ratio for each fresh block, turned
// so that positive is better. The change is confirmed when low is above 0. For
// planned looks, level is LookLevelOneSided of them. Below two blocks nothing is
// known: low is minus infinity and p is 1.
//
// Only blocks that were not used to choose the change may enter: the best of many
// useless changes looks good on the blocks that picked it.
//
// Source: Student (1908), one-sided.
func VerifyOneSided(d []float64, level float64) (low float64, p float64) {
	if len(d) < 2 || !finite(d) {
		return math.Inf(-1), 1
	}
	mean, sd := meanSD(d)
	df := float64(len(d) - 1)
	se := sd / math.Sqrt(float64(len(d)))
	if se == 0 {
		if mean > 0 {
			return mean, 0
		}
		return mean, 1
	}
	return mean - TQuantile(level, df)*se, upperTail(mean/se, df)
}
