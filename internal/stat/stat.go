// Package stat holds the statistics that plimsoll's answers rest on. Every
// function is pure: the same arguments, seeds included, give the same result.
//
// The trial is the unit of inference. Samples taken inside one trial depend on
// each other, so functions that take trials (PairedT, Contrast, Welch) must not
// be fed seconds or requests; those that work inside a trial (BatchMeans, MSER5,
// Drift) say so. Effects are ratios, and ratios are compared as natural
// logarithms throughout.
//
// No function panics on bad numbers. A sample that is too short or holds NaN or
// an infinity yields "nothing is known": an infinite interval and P = 1.
package stat

import "math"

// LeastBlocks is the fewest blocks that may carry a verdict at 95 %: with five, the
// signed-rank test cannot fall below 2/32 = 6 %, whatever the data.
const LeastBlocks = 6

// LeastBlocksAt is the fewest blocks with which the exact signed-rank test, which
// assumes no distribution, can reach the two-sided error alpha: 2/2^n.
func LeastBlocksAt(alpha float64) int {
	return max(LeastBlocks, 1+int(math.Ceil(-math.Log2(alpha)-1e-9)))
}

// MostBlocks is returned in place of any larger number of blocks or runs. It
// means "out of reach".
const MostBlocks = 1_000_000

// Interval is a range of values of one quantity, both ends in its unit.
type Interval struct{ Low, High float64 }

// Finite reports whether every value is a number.
func Finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
