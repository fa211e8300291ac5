package stat

import (
	"math"
	"testing"
)

func TestBinomialRate(t *testing.T) {
	for _, c := range []struct {
		kA   int64
		tA   float64
		kB   int64
		tB   float64
		want float64
	}{
		{0, 1, 0, 1, 1},
		{5, 1, 5, 1, 1},
		{0, 1, 6, 1, 2.0 / 64},
		{6, 1, 0, 1, 2.0 / 64},
		{1, 1, 8, 1, 2 * 10.0 / 512},
		{0, 1, 3, 3, 1},         // share 3/4 of 3: 2 and 3 events in B are equally likely
		{2, 1, 1, 3, 10.0 / 64}, // 0 and 1 events in B are less likely than both
		{-1, 1, 3, 1, 1},
		{3, 0, 3, 1, 1},
		{3, 1, 3, math.NaN(), 1},
		{3, math.Inf(1), 3, 1, 1},
	} {
		if got := BinomialRate(c.kA, c.tA, c.kB, c.tB); !Near(got, c.want, 1e-12) {
			t.Errorf("BinomialRate(%d, %g, %d, %g) = %g, want %g", c.kA, c.tA, c.kB, c.tB, got, c.want)
		}
	}
}

// With millions of events the exact value must meet the normal one.
func TestBinomialRateOfLargeCounts(t *testing.T) {
	for _, n := range []int64{10_000, 1_000_000, 100_000_000, 10_000_000_000} {
		for _, z := range []float64{0.5, 1, 2, 3, 5} {
			more := int64(z * math.Sqrt(float64(n)/2))
			got := BinomialRate(n-more, 10, n+more, 10)
			at := (2*float64(more) - 1) / math.Sqrt(2*float64(n))
			want := math.Erfc(at / math.Sqrt2)
			if math.Abs(got/want-1) > 0.02 {
				t.Errorf("%d events apart by %g sd: p %g, normal %g", n, z, got, want)
			}
		}
	}
}

func TestBinomialRateIsTheSameBothWays(t *testing.T) {
	r := source(31)
	for range 500 {
		a, b := int64(r.IntN(1000)), int64(r.IntN(1000))
		tA, tB := 0.5+r.Float64(), 0.5+r.Float64()
		if x, y := BinomialRate(a, tA, b, tB), BinomialRate(b, tB, a, tA); !Near(x, y, 1e-9) {
			t.Fatalf("%d in %g, %d in %g: %g and %g", a, tA, b, tB, x, y)
		}
	}
}

func TestBinomialRateKeepsItsLevel(t *testing.T) {
	s := Simulations(t)
	s.Within(t, "p up to 5 % at equal rates", 0.02, s.Either(0.066, 0.0536), func(r *normal) float64 {
		return s.Share(func() bool {
			// Events at random instants: those before two thirds belong to A.
			var a, b int64
			for range 40 {
				if r.Float64() < 2.0/3 {
					a++
				} else {
					b++
				}
			}
			return BinomialRate(a, 2, b, 1) <= 0.05
		})
	})
}

func TestZeroFailuresBound(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want float64
	}{
		{0, 1}, {-5, 1}, {1, 0.95}, {10, 0.2588656},
		{1000, 0.002991249}, {600_000_000, 2.995732274 / 600_000_000},
	} {
		if got := ZeroFailuresBound(c.n); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("ZeroFailuresBound(%d) = %g, want %g", c.n, got, c.want)
		}
	}
	for n := int64(10); n < 1e6; n *= 3 {
		if got := ZeroFailuresBound(n); got >= 3/float64(n) || got < 2.5/float64(n) {
			t.Errorf("%d: %g is not near 3/n", n, got)
		}
	}
}

func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, b, c, d int
		want       float64
	}{
		{3, 1, 1, 3, 0.4857142857}, // the lady tasting tea
		{4, 0, 0, 4, 2.0 / 70},
		{1, 9, 11, 3, 0.0027594561},
		{0, 0, 3, 4, 1},
		{5, 0, 5, 0, 1},
		{-1, 2, 3, 4, 1},
	} {
		if got := Fisher(c.a, c.b, c.c, c.d); !Near(got, c.want, 1e-9) {
			t.Errorf("Fisher(%d, %d, %d, %d) = %.10g, want %.10g", c.a, c.b, c.c, c.d, got, c.want)
		}
	}
}
