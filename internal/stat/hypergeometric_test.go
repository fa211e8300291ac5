package stat

import (
	"math"
	"testing"
)

func TestHypergeometricTail(t *testing.T) {
	for _, c := range []struct {
		hits, sample, marked, population int
		want                             float64
	}{
		{0, 5, 3, 20, 1},
		{1, 5, 3, 20, 1 - 455./1140}, // none: C(15,3)/C(20,3)
		{3, 5, 3, 20, 10. / 1140},    // C(5,3)/C(20,3)
		{4, 5, 3, 20, 0},             // more than are marked
		{2, 4, 18, 20, 1},            // fewer cannot be
		{3, 4, 18, 20, 1 - 153./4845},
		{4, 10, 4, 10, 1}, // all of them
	} {
		if got := HypergeometricTail(c.hits, c.sample, c.marked, c.population); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %g", c, got)
		}
	}
}
