package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// RateRatio returns the ratio of two rates of rare events, kB in tB against kA in
// tA, with its exact interval at the confidence level; see BinomialRate for the
// assumptions. Without events in A the ratio and its upper end are infinite;
// without any event nothing is known: NaN between 0 and infinity.
//
// Source: Clopper & Pearson (1934) for the share of the events that fell to B,
// carried over to the ratio.
func RateRatio(kA int64, tA float64, kB int64, tB, level float64) (ratio, low, high float64) {
	if kA < 0 || kB < 0 || kA+kB == 0 || !(tA > 0 && tB > 0) {
		return math.NaN(), 0, math.Inf(1)
	}
	a, b, side := float64(kA), float64(kB), (1-level)/2
	low, high = 0, math.Inf(1)
	if kB > 0 {
		low = betaOdds(b, a+1, side) * tA / tB
	}
	if kA > 0 {
		high = betaOdds(b+1, a, 1-side) * tA / tB
	}
	return b / a * tA / tB, low, high
}

// betaOdds returns x/(1-x) for the x that a beta value with parameters a and b stays
// below with probability p. It halves an interval of ln odds, where neither end of
// 0..1 loses digits; the library's inverse fails for some small p.
func betaOdds(a, b, p float64) float64 {
	low, high := -700.0, 700.0
	for range 64 {
		middle := (low + high) / 2
		var below float64
		if middle <= 0 {
			below = mathext.RegIncBeta(a, b, 1/(1+math.Exp(-middle)))
		} else {
			below = 1 - mathext.RegIncBeta(b, a, 1/(1+math.Exp(middle)))
		}
		if below < p {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp((low + high) / 2)
}
