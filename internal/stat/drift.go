package stat

import "math"

const (
	driftBatches = 20   // batch means that the line is fitted to
	driftLeast   = 8    // below so many samples nothing is said
	driftLevel   = 0.90 // of the interval of the slope: each side a 5 % test
)

// Gate is what the drift gate says about a window.
type Gate int

// The answers of the gate.
const (
	SteadyUnknown Gate = iota // too noisy or too short to say: measure longer
	Steady                    // the drift is shown to be within the limit
	Drifting                  // the drift is shown to be beyond the limit
)

// Drift fits a line to the batch means of x, the samples of one trial after the
// warm-up, and compares its change over the window, as a share of the mean, with
// the limit (0.02 is 2 %). Steady and Drifting are shown by a 90 % interval that
// lies wholly within or wholly beyond; anything else is unknown. change is the
// fitted one, positive for a rise. There are 20 batches, or one a sample where x
// is shorter; below 8 samples, and about a mean of 0, nothing is said.
//
// Source: least squares on batch means, Law & Kelton; the three answers are the
// interval form of Schuirmann (1987).
func Drift(x []float64, limit float64) (g Gate, change float64) {
	if len(x) < driftLeast || !Finite(x) {
		return SteadyUnknown, math.NaN()
	}
	z := BatchMeans(x, min(driftBatches, len(x)))
	mean, slope, se := line(z)
	if mean == 0 {
		return SteadyUnknown, math.NaN()
	}
	scale := float64(len(z)) / math.Abs(mean)
	change = slope * scale
	h := HalfWidth(se*scale, float64(len(z)-2), driftLevel)
	switch {
	case math.Abs(change)+h <= limit:
		return Steady, change
	case math.Abs(change)-h > limit:
		return Drifting, change
	}
	return SteadyUnknown, change
}

// line fits y against 0, 1, 2 ... by least squares and returns the mean of y, the
// slope a step and the standard error of the slope. It needs three values.
func line(y []float64) (mean, slope, se float64) {
	n := float64(len(y))
	mean, squares := Moments(y)
	spread := n * (n*n - 1) / 12 // sum of squared deviations of 0..n-1
	for i, v := range y {
		slope += (float64(i) - (n-1)/2) * (v - mean)
	}
	slope /= spread
	rest := math.Max(0, squares-slope*slope*spread)
	return mean, slope, math.Sqrt(rest / (n - 2) / spread)
}
