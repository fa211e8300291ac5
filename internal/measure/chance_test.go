package measure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Shares that are as they should be stay within chance, from few draws on; a share that is a
// little another one does not, once there are enough.
func TestChance(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	share := func(p float64, n int64) float64 {
		var hits int64
		for range n {
			if r.Float64() < p {
				hits++
			}
		}
		return float64(hits) / float64(n)
	}
	for _, p := range []float64{0, .01, .3, .5, 1} {
		for _, n := range []int64{1, 10, 1000} {
			beyond := 0
			for range 1000 {
				if math.Abs(share(p, n)-p) > ChanceOfShare(p, n) {
					beyond++
				}
			}
			// The law is not normal for few draws of what is rare.
			if beyond > 1 {
				t.Errorf("%g of %d draws: %d of 1000 are no chance", p, n, beyond)
			}
		}
	}
	if got := share(.31, 200_000); math.Abs(got-.3) <= ChanceOfShare(.3, 200_000) {
		t.Errorf("%g instead of .3 passes for chance", got)
	}
	if !math.IsInf(Chance(1, 0), 1) || math.Abs(Chance(4, 100)-1.005) > 1e-12 {
		t.Errorf("got %g, %g", Chance(1, 0), Chance(4, 100))
	}
}
