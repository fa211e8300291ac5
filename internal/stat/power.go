package stat

import (
	"math"
)

// BlocksNeeded returns how many blocks detect an effect with the given power in a two-sided
// test at alpha. cv is the coefficient of variation of a trial, effect the change as a share
// (0.02 is +2 %). Noise that the arms of a block share cancels, so this is an upper bound. It
// can be below LeastBlocks, which the caller must respect. It is MostBlocks when more would be
// needed, as for an effect of 0.
//
// Source: noncentral t, Johnson & Welch (1940); Cohen, Statistical Power Analysis.
func BlocksNeeded(cv, effect, power, alpha float64) int {
	delta := math.Abs(math.Log1p(effect))
	if !(delta > 0) || !(cv >= 0) || !(power < 1) || !(alpha > 0 && alpha < 1) {
		return MostBlocks
	}
	ratio := delta / (cv * math.Sqrt2)
	return leastBlocks(3, func(n int) bool { return powerAt(ratio, n, alpha) >= power })
}

// DetectableEffect returns the smallest effect, as a share, that the given number of blocks
// detects with the given power in a two-sided test at alpha; cv as in BlocksNeeded. It is
// infinite for fewer than three blocks.
//
// Source: as BlocksNeeded.
func DetectableEffect(cv float64, blocks int, power, alpha float64) float64 {
	if blocks < 3 || !(cv >= 0) || !(power < 1) || !(alpha > 0 && alpha < 1) {
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

// MoreBlocks returns about how many more blocks would decide the effect against the margin, a
// share, if estimate and variance stayed the same. It is 0 when the effect is decided, and
// MostBlocks when no number would suffice.
func MoreBlocks(e Effect, margin, alpha float64) int {
	if math.IsInf(e.SE, 0) || math.IsNaN(e.Mean) {
		return MostBlocks
	}
	room := math.Abs(math.Abs(e.Mean) - math.Log1p(math.Max(0, margin)))
	total := leastBlocks(max(e.N, 3), func(n int) bool { return e.halfWidth(n, alpha) < room })
	if total == MostBlocks {
		return MostBlocks
	}
	return total - e.N
}

// MarginWithinReach returns the smallest margin, a share, for which the effect would be
// equivalent after so many blocks, if estimate and variance stayed the same; infinite if
// undetermined.
func MarginWithinReach(e Effect, blocks int, alpha float64) float64 {
	if math.IsInf(e.SE, 0) || math.IsNaN(e.Mean) || blocks < 3 {
		return math.Inf(1)
	}
	return math.Expm1(math.Abs(e.Mean) + e.halfWidth(blocks, alpha))
}

// halfWidth is that of the interval after so many blocks with the same variance.
func (e Effect) halfWidth(blocks int, alpha float64) float64 {
	se := e.SE * math.Sqrt(float64(e.N)/float64(blocks))
	return se * widening(blocks, e.Slope != 0) * TQuantile(1-alpha/2, degrees(blocks))
}

// degrees is the number of degrees of freedom of a contrast under independent
// noise of the same size in both arms, with the order of each block known.
func degrees(blocks int) float64 {
	if blocks < leastForTrials {
		return float64(blocks - 2)
	}
	return float64(2*blocks - 4)
}

// powerAt returns the probability that a contrast of n blocks at alpha excludes 0 for an
// effect of ratio standard deviations of a difference.
func powerAt(ratio float64, n int, alpha float64) float64 {
	if math.IsInf(ratio, 1) {
		return 1
	}
	df := degrees(n)
	shift := ratio * math.Sqrt(float64(n))
	critical := widening(n, false) * TQuantile(1-alpha/2, df)
	if df > 1000 || shift > 30 {
		// normal approximation, Abramowitz & Stegun 26.7.10. The far side is nil.
		at := func(t float64) float64 {
			return (t*(1-1/(4*df)) - shift) / math.Sqrt(1+t*t/(2*df))
		}
		return normalTail(at(critical)) + normalTail(-at(-critical))
	}
	return 1 - noncentralT(critical, df, shift) + noncentralT(-critical, df, shift)
}

// leastBlocks returns the smallest number, at least from, for which a monotone condition
// holds; MostBlocks if there is none below that.
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
