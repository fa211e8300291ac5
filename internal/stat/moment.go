package stat

import "math"

// Moments returns the mean of x and its sum of squared deviations, in two passes: the one-pass
// formula loses all digits when deviations are small relative to the mean, as is usual for
// throughput.
func Moments(x []float64) (mean, squares float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	var rest float64
	for _, v := range x {
		squares += (v - mean) * (v - mean)
		rest += v - mean
	}
	// rest is the rounding error of mean (Chan, Golub & LeVeque 1983, eq. 1.7).
	n := float64(len(x))
	return mean + rest/n, math.Max(0, squares-rest*rest/n)
}

// meanSD returns the mean and the standard deviation with divisor n-1; the
// latter is NaN below two values.
func meanSD(x []float64) (mean, sd float64) {
	mean, squares := Moments(x)
	if len(x) < 2 {
		return mean, math.NaN()
	}
	return mean, math.Sqrt(squares / float64(len(x)-1))
}
