package measure

import "math"

// Chance is the largest deviation of the mean of n draws from its expectation that is put down
// to chance: five standard errors, exceeded in one of 1.7 million runs, plus half a draw,
// since draws are integers. Without draws it is infinite.
//
// Source: central limit theorem, with Yates' (1934) correction for continuity.
func Chance(variance float64, n int64) float64 {
	if n <= 0 {
		return math.Inf(1)
	}
	return 5*math.Sqrt(variance/float64(n)) + .5/float64(n)
}

// ChanceOfShare is Chance for a share of n draws, each a success with the given probability.
func ChanceOfShare(probability float64, n int64) float64 {
	return Chance(probability*(1-probability), n)
}
