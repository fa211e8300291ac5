package stat

import "math"

const (
	sniaRounds = 5
	sniaSpread = 0.20 // largest minus smallest round, as a share of the mean
	sniaSlope  = 0.10 // change of the fitted line over the window, as a share of the mean
)

// SNIASteady reports whether the last five rounds of a storage test are in steady state: their
// range is at most 20 % of their mean, and the fitted line changes by at most 10 % of it from
// first to last. rounds holds one value per round, such as IOPS. Fewer than five are never
// steady.
//
// Source: SNIA Solid State Storage Performance Test Specification, definition of steady state.
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
