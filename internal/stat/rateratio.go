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
	odds := func(share float64) float64 { return share / (1 - share) * tA / tB }
	low, high = 0, math.Inf(1)
	if kB > 0 {
		low = odds(mathext.InvRegIncBeta(b, a+1, side))
	}
	if kA > 0 {
		high = odds(mathext.InvRegIncBeta(b+1, a, 1-side))
	}
	return b / a * tA / tB, low, high
}
