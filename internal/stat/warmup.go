package stat

import "math"

const (
	mserBatch = 5  // samples averaged before the search: the 5 of MSER-5
	mserTail  = 5  // batches at the end where the criterion is too noisy to count
	mserLeast = 10 // batches below which nothing is said
)

// MSER5 returns how many samples to cut from the start of x, samples of one trial
// in order of time, so that the warm-up does not bias the mean: the cut that
// gives the mean of what is left the smallest standard error. ok is false when
// there are fewer than 50 samples, when they are not numbers, or when the best cut
// lies beyond half: then what is left is not a steady state but the end of a
// change.
//
// Source: White (1997), A simple truncation heuristic; White, Cobb & Spratt
// (2000) for batches of five.
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
	// From the end, the mean and the sum of squares of z[d:] grow by one value a
	// step (Welford 1962), which makes the search linear.
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
