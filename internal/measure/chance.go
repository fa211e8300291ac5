package measure

import "math"

// Chance is how far chance alone takes the mean of n draws, each of the variance, from
// their expectation: five standard errors, which it exceeds in one of 1.7 million runs, and
// half a draw, for draws are counted whole. Without draws it is infinite.
//
// Source: central limit theorem, with Yates' (1934) correction for continuity.
func Chance(variance float64, n int64) float64 {
	if n <= 0 {
		return math.Inf(1)
	}
	return 5*math.Sqrt(variance/float64(n)) + .5/float64(n)
}

// ChanceOfShare is Chance for a share of n draws, each of which has something with the
// given probability.
func ChanceOfShare(probability float64, n int64) float64 {
	return Chance(probability*(1-probability), n)
}
