package stat

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/aclements/go-moremath/stats"

	"plimsoll/internal/effort"
)

// Another library's answers, on random samples of random sizes.

func sample(r *normal, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 10 + 3*r.NormFloat64()
	}
	return x
}

func TestPairedTAgreesWithAnotherLibrary(t *testing.T) {
	r := newNormal(11)
	for range 500 {
		n := 2 + r.IntN(30)
		a, b := sample(r, n), sample(r, n)
		d := make([]float64, n)
		for i := range d {
			d[i] = b[i] - a[i]
		}
		want, err := stats.PairedTTest(b, a, 0, stats.LocationDiffers)
		if err != nil {
			t.Fatal(err)
		}
		level := 0.5 + 0.49*r.Float64()
		_, low, high := stats.MeanCI(d, level)
		got := PairedT(d, level)
		if !Near(got.P, want.P, 1e-9) || !Near(got.Low, low, 1e-6) || !Near(got.High, high, 1e-6) {
			t.Fatalf("n %d: %+v, want p %g, %g..%g", n, got, want.P, low, high)
		}
	}
}

func TestWelchAgreesWithAnotherLibrary(t *testing.T) {
	r := newNormal(12)
	for range 500 {
		a, b := sample(r, 2+r.IntN(20)), sample(r, 2+r.IntN(20))
		want, err := stats.TwoSampleWelchTTest(stats.Sample{Xs: b}, stats.Sample{Xs: a}, stats.LocationDiffers)
		if err != nil {
			t.Fatal(err)
		}
		got := Welch(a, b, 0.95)
		if !Near(got.P, want.P, 1e-9) || !Near(got.Mean, stats.Mean(b)-stats.Mean(a), 1e-9) {
			t.Fatalf("%+v, want p %g", got, want.P)
		}
		// The interval and the test are two sides of one thing.
		edge := Welch(a, b, 1-got.P)
		if !Near(math.Min(math.Abs(edge.Low), math.Abs(edge.High)), 0, 1e-6) {
			t.Fatalf("the interval at level 1-p is %g..%g and does not end at 0", edge.Low, edge.High)
		}
	}
}

func TestBinomialRateAgreesWithCounting(t *testing.T) {
	r := source(13)
	for range 2000 {
		a, b := int64(r.IntN(40)), int64(r.IntN(40))
		tA, tB := 0.1+r.Float64(), 0.1+r.Float64()
		if r.IntN(4) == 0 {
			tB = tA // ties
		}
		dist := stats.BinomialDist{N: int(a + b), P: tB / (tA + tB)}
		var want float64
		for k := range int(a+b) + 1 {
			if p := dist.PMF(float64(k)); p <= dist.PMF(float64(b))*(1+1e-7) {
				want += p
			}
		}
		if got := BinomialRate(a, tA, b, tB); !Near(got, math.Min(1, want), 1e-9) {
			t.Fatalf("BinomialRate(%d, %g, %d, %g) = %g, want %g", a, tA, b, tB, got, want)
		}
	}
}

func TestFisherAgreesWithCounting(t *testing.T) {
	r := source(14)
	for range 2000 {
		a, b, c, d := r.IntN(15), r.IntN(15), r.IntN(15), r.IntN(15)
		if a+b == 0 || c+d == 0 || a+c == 0 || b+d == 0 {
			if got := Fisher(a, b, c, d); got != 1 {
				t.Fatalf("Fisher(%d, %d, %d, %d) = %g, want 1", a, b, c, d, got)
			}
			continue
		}
		dist := stats.HypergeometicDist{N: a + b + c + d, K: a + c, Draws: a + b}
		var want float64
		for k := range a + b + 1 {
			if p := dist.PMF(float64(k)); p <= dist.PMF(float64(a))*(1+1e-7) {
				want += p
			}
		}
		if got := Fisher(a, b, c, d); !Near(got, math.Min(1, want), 1e-9) {
			t.Fatalf("Fisher(%d, %d, %d, %d) = %g, want %g", a, b, c, d, got, want)
		}
	}
}

func TestSignedRankAgreesWithAllPatterns(t *testing.T) {
	r := newNormal(15)
	for range 300 {
		d := make([]float64, 1+r.IntN(10))
		for i := range d {
			if d[i] = r.NormFloat64() + 0.5; r.IntN(3) == 0 {
				d[i] = math.Round(10*d[i]) / 10 // ties, and zeros
			}
		}
		var ranks []float64 // with the sign of the difference
		for i, v := range d {
			if v == 0 {
				continue
			}
			rank := 0.5
			for _, w := range d {
				switch {
				case w != 0 && math.Abs(w) < math.Abs(v):
					rank++
				case math.Abs(w) == math.Abs(v):
					rank += 0.5
				}
			}
			ranks = append(ranks, math.Copysign(rank, d[i]))
		}
		sumOf := func(pattern int) (sum float64) {
			for i, v := range ranks {
				if pattern>>i&1 == 1 {
					v = -v
				}
				sum += v
			}
			return math.Abs(sum)
		}
		count := 0
		for pattern := range 1 << len(ranks) {
			if sumOf(pattern) >= sumOf(0) {
				count++
			}
		}
		if got, want := SignedRank(d), float64(count)/float64(int(1)<<len(ranks)); !Near(got, want, 1e-12) {
			t.Fatalf("SignedRank(%v) = %g, want %g", d, got, want)
		}
	}
}

func TestSignedRank(t *testing.T) {
	ones := func(n int) []float64 {
		d := make([]float64, n)
		for i := range d {
			d[i] = 0.1
		}
		return d
	}
	// From scipy.stats.wilcoxon 1.15 of 1, -2, 3, ..., -70, 71: mode "approx", no correction.
	long := make([]float64, 71)
	for i := range long {
		long[i] = float64(i+1) * float64(1-2*(i%2))
	}
	for _, c := range []struct {
		d    []float64
		want float64
	}{
		{nil, 1},
		{[]float64{0, 0}, 1},
		{ones(5), 2.0 / 32}, // five blocks never reach 5 %
		{ones(6), 2.0 / 64},
		{ones(60), math.Ldexp(1, -59)},
		{[]float64{1, math.NaN()}, 1},
		{[]float64{1, math.Inf(1)}, 1},
		{long, 0.91785},
	} {
		if got := SignedRank(c.d); !Near(got, c.want, 1e-4*c.want) {
			t.Errorf("SignedRank(%v) = %g, want %g", c.d, got, c.want)
		}
	}
	for n, want := range map[int]float64{59: 0.05, 61: 0.05} { // exact and approximate agree where they meet
		s, slack := tier{N: 4000, seed: 3}, 0.01
		if !effort.Full() {
			s.N, slack = 1000, 0.02
		}
		s.Within(t, fmt.Sprintf("level with %d differences", n), want-slack, want+slack, func(r *normal) float64 {
			return s.Share(func() bool { return SignedRank(differences(r, shapes()[0], n, 1, 0)) <= 0.05 })
		})
	}
}

// The adjustments, written as their definitions.
func TestAdjustmentsAgreeWithTheirDefinitions(t *testing.T) {
	r := source(16)
	for range 300 {
		m := 1 + r.IntN(20)
		p := make([]float64, m)
		for i := range p {
			p[i] = math.Round(100*r.Float64()*r.Float64()) / 100
		}
		holm, bh := Holm(p), BenjaminiHochberg(p)
		sorted := slices.Sorted(slices.Values(p))
		for _, alpha := range []float64{0.013, 0.051, 0.103, 0.507} {
			steps := 0 // step down: stop at the first that fails
			for steps < m && sorted[steps] <= alpha/float64(m-steps) {
				steps++
			}
			ups := 0 // step up: the last that passes
			for k := 1; k <= m; k++ {
				if sorted[k-1] <= alpha*float64(k)/float64(m) {
					ups = k
				}
			}
			if got := countUpTo(holm, alpha); got != steps {
				t.Fatalf("Holm(%v) rejects %d at %g, want %d", p, got, alpha, steps)
			}
			if got := countUpTo(bh, alpha); got != ups {
				t.Fatalf("BenjaminiHochberg(%v) rejects %d at %g, want %d", p, got, alpha, ups)
			}
		}
	}
}

func countUpTo(p []float64, alpha float64) int {
	n := 0
	for _, v := range p {
		if v <= alpha {
			n++
		}
	}
	return n
}

// Published tables: Student's t as in any handbook.
func TestTQuantile(t *testing.T) {
	for _, c := range []struct{ p, df, want float64 }{
		{0.975, 1, 12.7062047362},
		{0.975, 2, 4.3026527297},
		{0.975, 5, 2.5705818356},
		{0.975, 23, 2.0686576104},
		{0.995, 7, 3.4994832974},
		{0.95, 18, 1.7340636066},
		{0.9999, 3, 22.2037422711},
		{0.975, 1000, 1.9623390808},
		{0.975, math.Inf(1), 1.9599639845},
		{0.025, 5, -2.5705818356},
		{0.5, 3, 0},
		{0.75, 1, 1},
		{0, 4, math.Inf(-1)},
		{1, 4, math.Inf(1)},
		{-0.1, 4, math.NaN()},
		{1.1, 4, math.NaN()},
		{0.5, 0, math.NaN()},
		{math.NaN(), 4, math.NaN()},
		{0.9, math.NaN(), math.NaN()},
	} {
		if got := TQuantile(c.p, c.df); !Near(got, c.want, 1e-9*math.Max(1, math.Abs(c.want))) {
			t.Errorf("TQuantile(%g, %g) = %.11g, want %.11g", c.p, c.df, got, c.want)
		}
	}
}

func TestTQuantileInvertsTheDistribution(t *testing.T) {
	r := source(17)
	for range 3000 {
		df := math.Exp(12 * r.Float64())
		p := math.Exp(-15*r.Float64()) / 2
		x := TQuantile(1-p, df)
		if got := upperTail(x, df); math.Abs(got/p-1) > 1e-6 {
			t.Fatalf("df %g: P(t > %g) = %g, want %g", df, x, got, p)
		}
	}
	for _, df := range []float64{1, 4, 30, 1e5, 1.1e5} {
		want := (stats.TDist{V: df}).CDF(1.7)
		if got := 1 - upperTail(1.7, df); !Near(got, want, 1e-8) {
			t.Errorf("df %g: P(t <= 1.7) = %.12g, the other has %.12g", df, got, want)
		}
	}
	if got := upperTail(1.7, 1e12); !Near(got, 0.5*math.Erfc(1.7/math.Sqrt2), 1e-12) {
		t.Errorf("with endless degrees of freedom P(t > 1.7) = %.12g", got)
	}
}
