package stat

import (
	"math"
	"testing"
)

func TestPairedT(t *testing.T) {
	inf := math.Inf(1)
	// Ten differences of the classic sleep data (Student 1908): mean 1.58, t 4.0621.
	sleep := []float64{1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4}
	for _, c := range []struct {
		what string
		d    []float64
		want Paired
	}{
		{"sleep", sleep, Paired{N: 10, Mean: 1.58, SD: 1.2299955, Low: 0.7001142, High: 2.4598858, P: 0.00283289}},
		{"nothing", nil, Paired{N: 0, Mean: math.NaN(), SD: math.NaN(), Low: -inf, High: inf, P: 1}},
		{"one", []float64{3}, Paired{N: 1, Mean: 3, SD: math.NaN(), Low: -inf, High: inf, P: 1}},
		{"equal", []float64{3, 3, 3}, Paired{N: 3, Mean: 3, SD: 0, Low: 3, High: 3, P: 0}},
		{"equal to 0", []float64{0, 0, 0}, Paired{N: 3, Mean: 0, SD: 0, Low: 0, High: 0, P: 1}},
	} {
		got := PairedT(c.d, 0.95)
		if got.N != c.want.N || !Near(got.Mean, c.want.Mean, 1e-9) || !Near(got.SD, c.want.SD, 1e-6) ||
			!Near(got.Low, c.want.Low, 1e-6) || !Near(got.High, c.want.High, 1e-6) || !Near(got.P, c.want.P, 1e-7) {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
	for _, bad := range [][]float64{{1, math.NaN()}, {1, inf, 2}, {-inf, 1, 2}} {
		if got := PairedT(bad, 0.95); got.P != 1 || !math.IsInf(got.Low, -1) || !math.IsInf(got.High, 1) {
			t.Errorf("%v: %+v, want nothing known", bad, got)
		}
	}
}

// Small spreads on a large mean are the usual case and must not lose digits.
func TestSpreadOnALargeMean(t *testing.T) {
	x := []float64{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}
	if mean, sd := meanSD(x); mean != 1e9+10 || !Near(sd*sd, 30, 1e-9) {
		t.Errorf("mean %v, variance %v, want 1000000010 and 30", mean, sd*sd)
	}
}

func TestMeanIntervals(t *testing.T) {
	if mean, low, high := MeanInterval([]float64{1, 2, 3, 4, 5}, 0.95); !Near(mean, 3, 1e-12) || !Near(low, 1.0367568, 1e-6) || !Near(high, 4.9632432, 1e-6) {
		t.Errorf("%g, %g..%g", mean, low, high)
	}
	geo, low, high := LogMeanInterval([]float64{1, 10, 100}, 0.95)
	if !Near(geo, 10, 1e-9) || !Near(low*high, 100, 1e-6) || !Near(high, 10*math.Exp(4.30265273*math.Log(10)/math.Sqrt(3)), 1) {
		t.Errorf("%g, %g..%g", geo, low, high)
	}
	for _, bad := range [][]float64{{1, 0}, {1, -1}, {1, math.NaN()}} {
		if geo, low, high := LogMeanInterval(bad, 0.95); !math.IsNaN(geo) || low != 0 || !math.IsInf(high, 1) {
			t.Errorf("%v: %g, %g..%g", bad, geo, low, high)
		}
	}
	if geo, low, high := LogMeanInterval([]float64{5}, 0.95); !Near(geo, 5, 1e-12) || low != 0 || !math.IsInf(high, 1) {
		t.Errorf("one value: %g, %g..%g", geo, low, high)
	}
	if mean, _, _ := MeanInterval(nil, 0.95); !math.IsNaN(mean) {
		t.Errorf("mean of nothing: %g", mean)
	}
}

func TestSwappingTheArmsMirrorsTheInterval(t *testing.T) {
	r := newNormal(41)
	for range 300 {
		d := differences(r, shapes()[1], 2+r.IntN(12), 0.02, 0.01)
		swapped := make([]float64, len(d))
		for i, v := range d {
			swapped[i] = -v
		}
		a, b := PairedT(d, 0.95), PairedT(swapped, 0.95)
		if !Near(a.Low, -b.High, 1e-12) || !Near(a.High, -b.Low, 1e-12) || !Near(a.P, b.P, 1e-12) {
			t.Fatalf("%+v and %+v", a, b)
		}
		if x, y := SignedRank(d), SignedRank(swapped); x != y {
			t.Fatalf("signed ranks %g and %g", x, y)
		}
		w, v := Welch(d, d[:2], 0.9), Welch(d[:2], d, 0.9)
		if !Near(w.Low, -v.High, 1e-12) || !Near(w.P, v.P, 1e-12) {
			t.Fatalf("Welch %+v and %+v", w, v)
		}
	}
}

func TestWelchOfTooLittle(t *testing.T) {
	for _, c := range [][2][]float64{{nil, nil}, {{1}, {1, 2}}, {{1, 2}, {1}}, {{1, math.NaN()}, {1, 2}}} {
		if got := Welch(c[0], c[1], 0.95); got.P != 1 || !math.IsInf(got.High, 1) {
			t.Errorf("Welch(%v, %v) = %+v", c[0], c[1], got)
		}
	}
	if got := Welch([]float64{1, 1}, []float64{3, 3, 3}, 0.95); got.Mean != 2 || got.Low != 2 || got.P != 0 || got.N != 2 {
		t.Errorf("constants: %+v", got)
	}
	if got := Welch([]float64{3, 3}, []float64{3, 3, 3}, 0.95); got.P != 1 {
		t.Errorf("equal constants: %+v", got)
	}
	// Rice's tiny variances: shares of variances that underflow when squared.
	if got := Welch([]float64{1e-170, 2e-170}, []float64{1e-170, 3e-170}, 0.95); math.IsNaN(got.P) || math.IsNaN(got.Low) {
		t.Errorf("tiny values: %+v", got)
	}
}
