package stat

import (
	"math"
	"math/rand/v2"
)

// normal draws standard normal values from a seeded generator.
type normal struct{ *rand.Rand }

func newNormal(seed uint64) *normal {
	return &normal{rand.New(rand.NewPCG(Scatter(seed), 0x6e6f726d))}
}

// drawnSingly is the largest number of values for which drawing each is as fast as drawing
// their sums.
const drawnSingly = 24

// sums returns the sum and the sum of squares of n values. For large n they are
// drawn from their own distributions: the sum is normal, and the squares about the
// mean are chi-squared with n-1 degrees of freedom.
func (r *normal) sums(n int) (sum, squares float64) {
	if n > drawnSingly {
		count := float64(n)
		sum = r.NormFloat64() * math.Sqrt(count)
		return sum, 2*r.gamma((count-1)/2) + sum*sum/count
	}
	for range n {
		v := r.NormFloat64()
		sum += v
		squares += v * v
	}
	return sum, squares
}

// gamma draws a gamma value of the given shape, at least 1. Source: Marsaglia &
// Tsang (2000).
func (r *normal) gamma(shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
