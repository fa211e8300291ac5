package stat

import "math"

// Center is the biweight location of x (Mosteller and Tukey, Data Analysis and Regression,
// 1977, section 10C): a mean that gives no weight to values 9 or more median absolute
// deviations away. It is NaN for no values, and the median where more than half of them are
// equal.
func Center(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	center := medianOf(x)
	const cut, rounds = 9, 50
	for range rounds {
		far := make([]float64, len(x))
		for i, v := range x {
			far[i] = math.Abs(v - center)
		}
		scale := cut * medianOf(far)
		if scale == 0 {
			return center
		}
		var sum, weights float64
		for _, v := range x {
			w := biweight((v - center) / scale)
			sum, weights = sum+w*v, weights+w
		}
		next := sum / weights
		if math.Abs(next-center) <= 1e-12*math.Abs(scale) {
			return next
		}
		center = next
	}
	return center
}
