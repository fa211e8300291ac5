// Package stat holds the statistics of plimsoll's verdicts. Every function is pure: the same
// arguments, seeds included, give the same result.
//
// The trial is the unit of inference. Samples within one trial are autocorrelated, so
// functions of trials (PairedT, Contrast, Welch) must not get seconds or requests; those of
// samples within a trial (BatchMeans, MSER5, Drift) say so. Effects are ratios, compared as
// natural logarithms.
//
// No function panics on bad numbers. A sample that is too short or has NaN or an infinity
// gives an infinite interval and P = 1.
package stat

import "math"

// LeastBlocks is the fewest blocks for a verdict at 95 %: with five, the p value of the
// signed-rank test is at least 2/32 = 6 %.
const LeastBlocks = 6

// LeastBlocksAt is the fewest blocks with which the exact signed-rank test can reach the
// two-sided error alpha: 2/2^n.
func LeastBlocksAt(alpha float64) int {
	return max(LeastBlocks, 1+int(math.Ceil(-math.Log2(alpha)-1e-9)))
}

// MostBlocks stands for any larger number of blocks or runs.
const MostBlocks = 1_000_000

// Interval is a range of values of one quantity, in its unit.
type Interval struct{ Low, High float64 }

// Finite reports whether no value is NaN or infinite.
func Finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
