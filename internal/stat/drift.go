package stat

import "math"

const (
	driftBatches = 20   // number of batch means
	driftLeast   = 8    // fewest samples
	driftLevel   = 0.90 // confidence level of the slope: one-sided tests at 5 %
)

// Gate is the result of the drift gate for a window.
type Gate int

// The results of the gate.
const (
	SteadyUnknown Gate = iota // too noisy or too short to decide
	Steady                    // the drift is shown to be within the limit
	Drifting                  // the drift is shown to be beyond the limit
)

// Drift fits a line to the batch means of x, the samples of one trial after the warm-up, and
// compares its change over the window, as a share of the mean, with the limit (0.02 is 2 %).
// It returns Steady or Drifting if a 90 % confidence interval lies entirely within or beyond
// the limit, otherwise SteadyUnknown. change is the fitted one, positive for a rise. There are
// 20 batches, or one per sample where x is shorter. Below 8 samples, or with a mean of 0, the
// result is SteadyUnknown.
//
// Source: least squares on batch means, Law & Kelton; the three results are the interval form
// of Schuirmann (1987).
func Drift(x []float64, limit float64) (g Gate, change float64) {
	change, h := DriftInterval(x)
	switch {
	case math.IsNaN(change):
		return SteadyUnknown, change
	case math.Abs(change)+h <= limit:
		return Steady, change
	case math.Abs(change)-h > limit:
		return Drifting, change
	}
	return SteadyUnknown, change
}

// DriftInterval returns the change of Drift and the half-width of its interval; NaN below 8 samples, or with a mean of 0.
func DriftInterval(x []float64) (change, half float64) {
	if len(x) < driftLeast || !Finite(x) {
		return math.NaN(), math.NaN()
	}
	z := BatchMeans(x, min(driftBatches, len(x)))
	mean, slope, se := line(z)
	if mean == 0 {
		return math.NaN(), math.NaN()
	}
	scale := float64(len(z)) / math.Abs(mean)
	return slope * scale, HalfWidth(se*scale, float64(len(z)-2), driftLevel)
}

// line fits y against 0, 1, 2 ... by least squares and returns the mean of y, the slope per
// step and the standard error of the slope. It needs three values.
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
