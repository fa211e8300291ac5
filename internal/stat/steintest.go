package stat

import "math"

// steinP returns the two-sided p value of a mean of 0, for the interval of SteinInterval.
//
// Source: Stein (1945).
func steinP(all []float64, pilotN int) float64 {
	if pilotN < 2 || pilotN > len(all) || !Finite(all) {
		return 1
	}
	mean, _ := Moments(all)
	_, sd := meanSD(all[:pilotN])
	return TwoSided(mean/(sd/math.Sqrt(float64(len(all)))), float64(pilotN-1))
}
