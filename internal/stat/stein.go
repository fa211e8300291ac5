package stat

import "math"

// SteinTotal returns the number of runs, pilot included, for an interval of the mean of at
// most +-halfWidth at the confidence level. pilot holds the first stage, one value per run, in
// the unit of halfWidth. It is at least len(pilot) and at most MostBlocks, which is also
// returned for fewer than two pilot runs, or a half-width of 0 or less.
//
// Source: Stein (1945).
func SteinTotal(pilot []float64, halfWidth, level float64) int {
	_, sd := meanSD(pilot)
	if len(pilot) < 2 || !Finite(pilot) || !(halfWidth > 0) {
		return MostBlocks
	}
	if sd == 0 {
		return len(pilot)
	}
	need := math.Ceil(math.Pow(TQuantile(0.5+level/2, float64(len(pilot)-1))*sd/halfWidth, 2))
	if !(need < MostBlocks) {
		return MostBlocks
	}
	return max(len(pilot), int(need))
}

// SteinInterval returns the mean of all runs and its interval at the confidence level, if the
// first pilotN runs determined their number. The variance is that of the pilot alone: that of
// all runs would make the interval too narrow.
//
// Source: Stein (1945).
func SteinInterval(all []float64, pilotN int, level float64) (mean, low, high float64) {
	mean, _ = Moments(all)
	if pilotN < 2 || pilotN > len(all) || !Finite(all) {
		return mean, math.Inf(-1), math.Inf(1)
	}
	_, sd := meanSD(all[:pilotN])
	h := HalfWidth(sd/math.Sqrt(float64(len(all))), float64(pilotN-1), level)
	return mean, mean - h, mean + h
}

// SteinEffect is the effect of d, one difference per block, with the interval of SteinInterval
// at the two-sided error alpha.
func SteinEffect(d []float64, pilotN int, alpha float64) Effect {
	e := Effect{N: len(d), P: steinP(d, pilotN), SE: math.Inf(1), OrderMean: math.NaN()}
	e.Mean, e.Low, e.High = SteinInterval(d, pilotN, 1-alpha)
	if pilotN >= 2 && pilotN <= len(d) && Finite(d) {
		_, sd := meanSD(d[:pilotN])
		e.SE, e.DF = sd/math.Sqrt(float64(len(d))), float64(pilotN-1)
		e.Critical = TQuantile(1-alpha/2, e.DF)
	}
	return e
}
