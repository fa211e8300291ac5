package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Rate is a number of rare events and their exposure: a time, or a number of operations.
type Rate struct {
	Events   int64
	Exposure float64
}

// RateRatio returns the ratio of two rates of rare events, b over a, with its exact interval
// at the confidence level; see BinomialRate for the assumptions. Without events in a the ratio
// and its upper end are infinite; without any event the ratio is NaN and the interval 0 to
// infinity.
//
// Source: Clopper & Pearson (1934) for the share of the events in b, transformed to the ratio.
func RateRatio(a, b Rate, level float64) (ratio, low, high float64) {
	if a.Events < 0 || b.Events < 0 || a.Events+b.Events == 0 || !(a.Exposure > 0 && b.Exposure > 0) {
		return math.NaN(), 0, math.Inf(1)
	}
	kA, kB, side := float64(a.Events), float64(b.Events), (1-level)/2
	low, high = 0, math.Inf(1)
	if kB > 0 {
		low = betaOdds(kB, kA+1, side) * a.Exposure / b.Exposure
	}
	if kA > 0 {
		high = betaOdds(kB+1, kA, 1-side) * a.Exposure / b.Exposure
	}
	return kB / kA * a.Exposure / b.Exposure, low, high
}

// betaOdds returns x/(1-x) for the p quantile x of the beta distribution with parameters a and
// b. It bisects ln odds, which loses no digits near 0 and 1; the library's inverse fails for
// some small p.
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
