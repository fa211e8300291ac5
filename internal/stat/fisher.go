package stat

import "math"

// Fisher returns the two-sided p value of the hypothesis that the shares a/(a+b) and c/(c+d)
// are equal: a runs passed and b failed in one arm, c and d in the other. It is the
// probability, given the margins, of all tables at most as likely as the observed one. It is 1
// if an arm has no runs or all runs have the same outcome.
//
// Source: Fisher (1922); two-sided as by Freeman & Halton (1951).
func Fisher(a, b, c, d int) float64 {
	if min(a, b, c, d) < 0 {
		return 1
	}
	passed, first, all := a+c, a+b, a+b+c+d
	limit := tableLog(a, first, passed, all) + 1e-7 // tolerance for ties
	var p float64
	for k := max(0, passed-(all-first)); k <= min(first, passed); k++ {
		if l := tableLog(k, first, passed, all); l <= limit {
			p += math.Exp(l)
		}
	}
	return math.Min(1, p)
}

// tableLog returns ln P(K = k) of K hypergeometric: k of the passed ones among the
// first, out of all.
func tableLog(k, first, passed, all int) float64 {
	return chooseLog(passed, k) + chooseLog(all-passed, first-k) - chooseLog(all, first)
}

// chooseLog returns the logarithm of the binomial coefficient n over k.
func chooseLog(n, k int) float64 {
	a, _ := math.Lgamma(float64(n) + 1)
	b, _ := math.Lgamma(float64(k) + 1)
	c, _ := math.Lgamma(float64(n-k) + 1)
	return a - b - c
}
