package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// BlocksNeeded returns how many blocks show an effect with the given power when
// tested two-sided at alpha. cv is the standard deviation of a run as a share of
// its mean, effect the change as a share (0.02 is +2 %). A block differs by cv
// times the square root of 2; noise that the arms of a block share cancels, so
// this is an upper bound. The number is that of the arithmetic and can be below
// LeastBlocks, which the caller must respect. It is MostBlocks when more would be
// needed, as for an effect of 0.
//
// Source: noncentral t, Johnson & Welch (1940); Cohen, Statistical Power Analysis.
func BlocksNeeded(cv, effect, power, alpha float64) int {
	delta := math.Abs(math.Log1p(effect))
	if !(delta > 0) || !(cv >= 0) || !(power < 1) || !(alpha > 0 && alpha < 1) {
		return MostBlocks
	}
	ratio := delta / (cv * math.Sqrt2)
	return leastBlocks(2, func(n int) bool { return powerAt(ratio, n, alpha) >= power })
}

// DetectableEffect returns the smallest effect, as a share, that the given number
// of blocks shows with the given power when tested two-sided at alpha; cv as in
// BlocksNeeded. It is infinite below two blocks.
//
// Source: as BlocksNeeded.
func DetectableEffect(cv float64, blocks int, power, alpha float64) float64 {
	if blocks < 2 || !(cv >= 0) || !(power < 1) || !(alpha > 0 && alpha < 1) {
		return math.Inf(1)
	}
	low, high := 0.0, 1.0
	for powerAt(high, blocks, alpha) < power {
		low, high = high, 2*high
		if high > 1e6 {
			return math.Inf(1)
		}
	}
	for range 60 {
		if middle := (low + high) / 2; powerAt(middle, blocks, alpha) < power {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Expm1(high * cv * math.Sqrt2)
}

// MoreBlocks returns about how many more blocks would decide, if mean and spread
// of the log-ratios d stayed as they are: the interval at the confidence level must
// then leave 0 or come to lie within the margin, a share. It is 0 when d decides
// already, and MostBlocks when no number would do. Until there are LeastBlocks it
// is at least what is missing to them.
//
// Source: the t interval of PairedT solved for its length.
func MoreBlocks(d []float64, margin, level float64) int {
	n := len(d)
	missing := max(0, LeastBlocks-n)
	if n < 2 {
		return missing
	}
	p := PairedT(d, level)
	if !finite(d) {
		return MostBlocks
	}
	if Judge(p.Low, p.High, margin) != Undecided {
		return missing
	}
	room := math.Max(math.Abs(p.Mean), math.Log1p(math.Max(0, margin))-math.Abs(p.Mean))
	total := leastBlocks(max(n+1, LeastBlocks), func(total int) bool {
		return halfWidth(p.SD/math.Sqrt(float64(total)), float64(total-1), level) < room
	})
	if total == MostBlocks {
		return MostBlocks
	}
	return total - n
}

// powerAt returns the probability that the two-sided t test of n blocks at alpha
// rejects when the mean is ratio standard deviations away from 0.
func powerAt(ratio float64, n int, alpha float64) float64 {
	if math.IsInf(ratio, 1) {
		return 1
	}
	df := float64(n - 1)
	shift := ratio * math.Sqrt(float64(n))
	critical := TQuantile(1-alpha/2, df)
	if df > 1000 || shift > 30 {
		// Normal approximation, Abramowitz & Stegun 26.7.10. The far side is nil.
		at := func(t float64) float64 {
			return (t*(1-1/(4*df)) - shift) / math.Sqrt(1+t*t/(2*df))
		}
		return distuv.UnitNormal.Survival(at(critical)) + distuv.UnitNormal.CDF(at(-critical))
	}
	t := distuv.NoncentralT{Nu: df, Mu: shift}
	return 1 - t.CDF(critical) + t.CDF(-critical)
}

// leastBlocks returns the smallest number, from the given one up, for which the
// condition holds, which must then hold for all larger ones; MostBlocks if none
// below that does.
func leastBlocks(from int, holds func(int) bool) int {
	high := from
	for !holds(high) {
		from, high = high+1, 2*high
		if high >= MostBlocks {
			return MostBlocks
		}
	}
	return from + firstAbove(high-from, func(k int) bool { return holds(from + k) })
}
