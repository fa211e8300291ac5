package stat

import "math"

const (
	sniaRounds = 5
	sniaSpread = 0.20 // of the mean, between the largest and the smallest round
	sniaSlope  = 0.10 // of the mean, the fitted line's change over the window
)

// SNIASteady reports whether the last five rounds of a storage test are in steady
// state: they spread over at most 20 % of their mean, and the line fitted to them
// changes by at most 10 % of it from the first to the last. rounds holds one value
// a round, such as IOPS. Fewer than five are never steady.
//
// Source: SNIA Solid State Storage Performance Test Specification, definition of
// steady state.
func SNIASteady(rounds []float64) bool {
	if len(rounds) < sniaRounds {
		return false
	}
	window := rounds[len(rounds)-sniaRounds:]
	mean, slope, _ := line(window)
	if !Finite(window) || !(mean > 0) {
		return false
	}
	low, high := window[0], window[0]
	for _, v := range window {
		low, high = math.Min(low, v), math.Max(high, v)
	}
	return high-low <= sniaSpread*mean && math.Abs(slope)*(sniaRounds-1) <= sniaSlope*mean
}
