package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// TQuantile returns the value that Student's t with df degrees of freedom
// exceeds with probability 1-p. df may be fractional (Welch) or infinite (the
// normal distribution). It is NaN outside 0 <= p <= 1 or df > 0.
//
// Source: Student (1908); inverted through the incomplete beta function,
// Abramowitz & Stegun 26.7.1.
func TQuantile(p, df float64) float64 {
	switch {
	case !(p >= 0 && p <= 1) || !(df > 0):
		return math.NaN()
	case p == 0:
		return math.Inf(-1)
	case p == 1:
		return math.Inf(1)
	case p > 0.5:
		return -TQuantile(1-p, df)
	case df > 1e10:
		return distuv.UnitNormal.Quantile(p)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: df}
	x := t.Quantile(p)
	// The library's inverse is good to about seven digits; the distribution
	// function is better, so Newton's method recovers the rest.
	for range 3 {
		density := t.Prob(x)
		if density <= 0 || math.IsInf(x, 0) {
			break
		}
		x -= (t.CDF(x) - p) / density
	}
	return x
}

// twoSided returns the probability that Student's t with df degrees of freedom
// is at least as far from 0 as t.
func twoSided(t, df float64) float64 {
	return math.Min(1, 2*upperTail(math.Abs(t), df))
}

// upperTail returns the probability that Student's t with df degrees of freedom
// exceeds t.
func upperTail(t, df float64) float64 {
	switch {
	case math.IsNaN(t) || !(df > 0):
		return 1
	case math.IsInf(t, 1):
		return 0
	case math.IsInf(t, -1):
		return 1
	}
	return distuv.StudentsT{Sigma: 1, Nu: df}.Survival(t)
}

// halfWidth returns the half-width of the two-sided t interval at the given
// confidence level for a mean with standard error se.
func halfWidth(se, df, level float64) float64 {
	if se == 0 {
		return 0
	}
	return TQuantile(0.5+level/2, df) * se
}
