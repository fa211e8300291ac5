package stat

import "math"

const (
	mserBatch = 5  // samples per batch: the 5 of MSER-5
	mserTail  = 5  // batches at the end that are not candidates: the criterion is too noisy there
	mserLeast = 10 // fewest batches
)

// MSER5 returns the truncation point of the warm-up of x, the samples of one trial in order of
// time: the cut for which the mean of the rest has the smallest standard error. ok is false
// for fewer than 50 samples, for NaN, or if the best cut is beyond half: then the rest is not
// a steady state but the end of a change.
//
// Source: White (1997), A simple truncation heuristic; White, Cobb & Spratt (2000) for batches
// of five.
func MSER5(x []float64) (cut int, ok bool) {
	batches := len(x) / mserBatch
	if batches < mserLeast || !Finite(x) {
		return 0, false
	}
	z := make([]float64, batches)
	for i := range z {
		z[i], _ = Moments(x[i*mserBatch : (i+1)*mserBatch])
	}
	best, at := math.Inf(1), 0
	// Backwards, the mean and the sum of squares of z[d:] are updated in constant time
	// (Welford 1962).
	var mean, squares float64
	for d := batches - 1; d >= 0; d-- {
		n := float64(batches - d)
		delta := z[d] - mean
		mean += delta / n
		squares += delta * (z[d] - mean)
		if batches-d < mserTail {
			continue
		}
		if score := squares / (n * n); score <= best {
			best, at = score, d
		}
	}
	return at * mserBatch, 2*at <= batches
}
