package stat_test

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/stat"
	"plimsoll/internal/stat/curve"
)

// publishedScale are the throughputs of Cisco's benchmark of 1 to 32 users that
// Schwartz, Practical Scalability Analysis, fits, and several programs after him.
var publishedScale = []float64{
	955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08,
	7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24,
	10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37,
	12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39,
}

func upTo(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i + 1)
	}
	return out
}

func TestFitUSLAgainstPublishedFits(t *testing.T) {
	for _, c := range []struct {
		what         string
		kind         curve.Residuals
		want         curve.USL
		peakN, peakX float64
		tolerance    float64
	}{
		{"absolute", curve.AbsoluteResiduals, curve.USL{Lambda: 995.6486, Sigma: 0.02671591, Kappa: 7.690945e-4}, 35, 12341.75, 1e-4},
		{"relative", curve.RelativeResiduals, curve.USL{Lambda: 960.05, Sigma: 0.02028, Kappa: 8.958e-4}, 33.1, 0, 1e-4},
	} {
		u, ok := curve.FitUSL(upTo(32), publishedScale, c.kind)
		if !ok {
			t.Fatalf("%s: refused", c.what)
		}
		t.Logf("%s: %.7g %.7g %.7g, peak %.7g at %.5g", c.what, u.Lambda, u.Sigma, u.Kappa, u.PeakX(), u.PeakN())
		for _, p := range [][2]float64{{u.Lambda, c.want.Lambda}, {u.Sigma, c.want.Sigma}, {u.Kappa, c.want.Kappa}} {
			if math.Abs(p[0]/p[1]-1) > c.tolerance {
				t.Errorf("%s: coefficient %.8g, want %.8g", c.what, p[0], p[1])
			}
		}
		if got := u.PeakN(); math.Abs(got-c.peakN) > 1 {
			t.Errorf("%s: peak at %.4g, want %.4g", c.what, got, c.peakN)
		}
		// The published program rounds the size of the peak down before it asks for the throughput.
		if got := u.At(math.Floor(u.PeakN())); c.peakX > 0 && math.Abs(got/c.peakX-1) > 1e-4 {
			t.Errorf("%s: highest throughput %.7g, want %.7g", c.what, got, c.peakX)
		}
	}
}

func TestFitUSLFindsWhatWasPlanted(t *testing.T) {
	for _, want := range []curve.USL{
		{Lambda: 1000, Sigma: 0.03, Kappa: 7e-4}, {Lambda: 3e6, Sigma: 0, Kappa: 1e-3}, {Lambda: 0.02, Sigma: 0.2, Kappa: 0}, {Lambda: 5, Sigma: 0, Kappa: 0}, {Lambda: 1000, Sigma: 0.9, Kappa: 0.3}, {Lambda: 1e4, Sigma: 1e-4, Kappa: 1e-8},
	} {
		n := []float64{1, 2, 4, 8, 16, 32, 64}
		for _, kind := range []curve.Residuals{curve.RelativeResiduals, curve.AbsoluteResiduals} {
			x := make([]float64, len(n))
			for i := range n {
				x[i] = want.At(n[i])
			}
			u, ok := curve.FitUSL(n, x, kind)
			if !ok || math.Abs(u.Lambda/want.Lambda-1) > 1e-6 || math.Abs(u.Sigma-want.Sigma) > 1e-6 || math.Abs(u.Kappa-want.Kappa) > 1e-7 {
				t.Errorf("planted %v, found %v", want, u)
			}
		}
	}
}

// Where the best law would have a negative coefficient, the answer is at the limit
// and still the best of those that are allowed.
func TestFitUSLKeepsCoefficientsAtZero(t *testing.T) {
	r := stat.NewNormal(5)
	for range 200 {
		n := upTo(8)
		x := make([]float64, len(n))
		for i := range n {
			x[i] = 100 * math.Pow(n[i], 1.1) * math.Exp(0.05*r.NormFloat64())
		}
		u, ok := curve.FitUSL(n, x, curve.RelativeResiduals)
		if !ok || u.Sigma < 0 || u.Kappa < 0 {
			t.Fatalf("%v of %v", u, x)
		}
		score := func(u curve.USL) (sum float64) {
			for i := range n {
				sum += math.Pow(x[i]/u.At(n[i])-1, 2)
			}
			return sum
		}
		best := score(u)
		for range 50 {
			other := curve.USL{Lambda: u.Lambda * (1 + 0.05*r.NormFloat64()), Sigma: math.Abs(u.Sigma + 0.02*r.NormFloat64()), Kappa: math.Abs(u.Kappa + 0.002*r.NormFloat64())}
			if s := score(other); s < best*(1-1e-9) {
				t.Fatalf("%v scores %g, %v scores %g", u, best, other, s)
			}
		}
	}
}

func TestFitUSLRefuses(t *testing.T) {
	for what, c := range map[string][2][]float64{
		"two sizes":  {{1, 2, 2}, {1, 2, 2}},
		"zero":       {{1, 2, 3}, {1, 0, 2}},
		"below one":  {{0.5, 2, 3}, {1, 2, 3}},
		"lengths":    {{1, 2, 3}, {1, 2}},
		"not number": {{1, 2, 3}, {1, math.NaN(), 3}},
	} {
		if u, ok := curve.FitUSL(c[0], c[1], curve.RelativeResiduals); ok {
			t.Errorf("%s: %v", what, u)
		}
	}
}

func TestUSLPeak(t *testing.T) {
	for _, c := range []struct {
		u    curve.USL
		n, x float64
	}{
		{curve.USL{Lambda: 40, Sigma: 0, Kappa: 0}, math.Inf(1), math.Inf(1)},
		{curve.USL{Lambda: 40, Sigma: 0.1, Kappa: 0}, math.Inf(1), 400},
		{curve.USL{Lambda: 40, Sigma: 1, Kappa: 0.1}, 1, 40},
		{curve.USL{Lambda: 40, Sigma: 0, Kappa: 1}, 1, 40},
		{curve.USL{Lambda: 40, Sigma: 0.19, Kappa: 0.0081}, 10, 40 * 10 / (1 + 0.19*9 + 0.0081*90)},
	} {
		if !stat.Near(c.u.PeakN(), c.n, 1e-9) || !stat.Near(c.u.PeakX(), c.x, 1e-9) {
			t.Errorf("%v: peak %g at %g, want %g at %g", c.u, c.u.PeakX(), c.u.PeakN(), c.x, c.n)
		}
	}
}

// planted is a law with its peak at 36.
var planted = curve.USL{Lambda: 1000, Sigma: 0.03, Kappa: 0.97 / (36 * 36)}

func measured(r *stat.Normal, sizes []float64, runs int, noise float64) []curve.Scale {
	out := make([]curve.Scale, len(sizes))
	for i, n := range sizes {
		out[i].N = n
		for range runs {
			out[i].Runs = append(out[i].Runs, planted.At(n)*math.Exp(noise*r.NormFloat64()))
		}
	}
	return out
}

// A law of the right shape is refuted as often as it is promised to be; one that two
// units fill is always.
func TestForecastLackOfFit(t *testing.T) {
	s := stat.Simulations(t)
	sizes := []float64{1, 2, 4, 8, 12, 16, 24}
	s.Within(t, "the right law refuted", 0.005, 0.105, func(r *stat.Normal) float64 {
		const trials = 300
		refuted := 0.0
		for i := range trials {
			if f := curve.ForecastUSL(measured(r, sizes, 4, 0.02), 0.95, uint64(i)); f.LackOfFit < 0.05 {
				refuted++
			}
		}
		return refuted / trials
	})
	s.Within(t, "p value where two units fill it", 0, 1e-6, func(r *stat.Normal) float64 {
		scales := measured(r, sizes, 4, 0.02)
		for i := range scales {
			for j := range scales[i].Runs {
				scales[i].Runs[j] *= 1000 * min(sizes[i], 2) / planted.At(sizes[i])
			}
		}
		f := curve.ForecastUSL(scales, 0.95, 1)
		return f.LackOfFit
	})
}

func TestForecastCovers(t *testing.T) {
	s := stat.Simulations(t)
	trials := int(s.Either(300, 4000))
	slack := s.Either(0.05, 0.01)
	for _, sizes := range stat.Some([]float64{1, 4, 8, 12, 18, 24}, []float64{1, 2, 4, 8, 12, 16, 24}) {
		covered := map[string]float64{}
		s.Within(t, "size of the peak covered, measured to 2/3 of it", 0.90-slack, 1, func(r *stat.Normal) float64 {
			clear(covered)
			named := 0.0
			for i := range trials {
				f := curve.ForecastUSL(measured(r, sizes, 3, 0.02), 0.95, uint64(i))
				x, at, err := f.At(30)
				if err != nil || !at.Contains(x) {
					t.Fatalf("forecast at 30: %g in %v, %v", x, at, err)
				}
				count := func(what string, yes bool) {
					if yes {
						covered[what]++
					}
				}
				count("throughput", at.Contains(planted.At(30)))
				count("kappa", f.Kappa.Contains(planted.Kappa))
				count("sigma", f.Sigma.Contains(planted.Sigma))
				count("lambda", f.Lambda.Contains(planted.Lambda))
				count("peak", f.PeakN.Contains(36))
				if f.Peak == "" {
					named++
				}
			}
			if named < 0.8*float64(trials) {
				t.Errorf("a peak was named in %g of %d", named, trials)
			}
			return covered["peak"] / float64(trials)
		})
		for what, count := range covered {
			if share := count / float64(trials); share < 0.90-slack {
				t.Errorf("%v: interval of %s covers %.3f", sizes, what, share)
			}
		}
	}
}

// Measured to a quarter of the peak the data do not carry it.
func TestForecastRefusesAPeakFarAway(t *testing.T) {
	s := stat.Simulations(t)
	trials := effort.Of(int(s.Either(300, 4000)))
	s.Within(t, "peak named at a quarter", 0, 0.02, func(r *stat.Normal) float64 {
		named := 0.0
		for i := range trials {
			f := curve.ForecastUSL(measured(r, []float64{1, 2, 3, 5, 7, 9}, 3, 0.02), 0.95, uint64(i))
			if f.Peak == "" {
				named++
			} else if !strings.Contains(f.Peak, "no peak identified") {
				t.Fatalf("%q", f.Peak)
			}
		}
		return named / float64(trials)
	})
}

func TestForecastRefuses(t *testing.T) {
	r := stat.NewNormal(1)
	few := measured(r, []float64{1, 2, 4, 8, 16}, 3, 0.01)
	thin := measured(r, []float64{1, 2, 4, 8, 16, 24}, 2, 0.01)
	zero := measured(r, []float64{1, 2, 4, 8, 16, 24}, 3, 0.01)
	zero[3].Runs[1] = 0
	for _, c := range []struct {
		scales []curve.Scale
		want   string
	}{
		{few, "only 5 sizes measured, a forecast needs 6"},
		{thin, "only 2 runs at n = 1, a forecast needs 3 at each size"},
		{zero, "a forecast needs sizes of at least 1 and throughputs above 0"},
		{nil, "only 0 sizes measured, a forecast needs 6"},
	} {
		f := curve.ForecastUSL(c.scales, 0.95, 1)
		if f.Refusal != c.want || f.Peak == "" {
			t.Errorf("refusal %q, want %q", f.Refusal, c.want)
		}
		if _, _, err := f.At(2); err == nil {
			t.Error("a forecast without data")
		}
	}
	f := curve.ForecastUSL(measured(r, []float64{1, 2, 4, 8, 16, 24}, 3, 0.01), 0.95, 1)
	if _, _, err := f.At(48); err != nil {
		t.Error(err)
	}
	if _, _, err := f.At(49); err == nil || !strings.Contains(err.Error(), "limited to 1 to 48") {
		t.Errorf("beyond twice the largest size: %v", err)
	}
	again := curve.ForecastUSL(measured(stat.NewNormal(9), []float64{1, 2, 4, 8, 16, 24}, 3, 0.01), 0.95, 7)
	same := curve.ForecastUSL(measured(stat.NewNormal(9), []float64{1, 2, 4, 8, 16, 24}, 3, 0.01), 0.95, 7)
	if again.Kappa != same.Kappa || again.PeakN != same.PeakN {
		t.Error("the same seed gave another interval")
	}
}
