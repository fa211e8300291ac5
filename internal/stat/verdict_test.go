package stat

import (
	"fmt"
	"math"
	"testing"
)

// answers returns the share of each answer of a study with n blocks.
func answers(s tier, r *normal, n int, cv, effect float64) map[Answer]float64 {
	out := map[Answer]float64{}
	for range s.N {
		p := PairedT(differences(r, shapes()[0], n, cv, math.Log1p(effect)), 0.95)
		out[Judge(p.Low, p.High, 0.02)] += 1 / float64(s.N)
	}
	return out
}

func TestVerdictsErrAsPromised(t *testing.T) {
	s := Simulations(t)
	beyond := func(a map[Answer]float64) float64 { return a[Above] + a[Below] }
	equal := func(a map[Answer]float64) float64 { return a[Equivalent] }
	different := func(a map[Answer]float64) float64 {
		return beyond(a) + a[DifferentUp] + a[DifferentDown]
	}
	wrongWay := func(a map[Answer]float64) float64 { return a[Below] + a[DifferentDown] }
	for _, c := range []struct {
		what       string
		blocks     int
		cv, effect float64
		of         func(map[Answer]float64) float64
		low, high  float64
	}{
		{"equivalent at the margin", 6, 0.01, 0.02, equal, 0, s.Either(0.035, 0.028)},
		{"equivalent at the margin", 12, 0.01, 0.02, equal, 0.01, s.Either(0.035, 0.028)},
		{"equivalent at the margin", 24, 0.02, 0.02, equal, 0.01, s.Either(0.035, 0.028)},
		{"beyond at the margin", 6, 0.01, 0.02, beyond, 0.01, s.Either(0.035, 0.028)},
		{"beyond at the margin", 12, 0.01, 0.02, beyond, 0.01, s.Either(0.035, 0.028)},
		{"beyond at the margin", 24, 0.02, 0.02, beyond, 0.01, s.Either(0.035, 0.028)},
		{"equivalent at 0", 6, 0.01, 0, equal, 0.57, 0.65},
		{"equivalent at 0", 12, 0.01, 0, equal, 0.97, 1},
		{"beyond at 0", 6, 0.02, 0, beyond, 0, 0.01},
		{"different at 0", 6, 0.05, 0, different, s.Either(0.034, 0.0464), s.Either(0.066, 0.0536)},
		{"beyond at half the margin", 12, 0.01, 0.01, beyond, 0, 0.002},
		{"wrong way at half the margin", 12, 0.01, 0.01, wrongWay, 0, 0.002},
		{"beyond at twice the margin", 12, 0.01, 0.04, beyond, 0.97, 1},
		{"equivalent at twice the margin", 6, 0.01, 0.04, equal, 0, 0.001},
		{"beyond at twice the margin, downwards", 12, 0.01, -0.04, beyond, 0.97, 1},
	} {
		s.Within(t, fmt.Sprintf("%s, %d blocks, CV %g %%", c.what, c.blocks, 100*c.cv), c.low, c.high,
			func(r *normal) float64 { return c.of(answers(s, r, c.blocks, c.cv, c.effect)) })
	}
}

func TestJudge(t *testing.T) {
	d := math.Log1p(0.02)
	for _, c := range []struct {
		low, high, margin float64
		want              Answer
	}{
		{-0.01, 0.01, 0.02, Equivalent},
		{0.001, 0.01, 0.02, Equivalent}, // different from 0, but not by anything of interest
		{-0.01, d, 0.02, Undecided},     // touching is not passing
		{-d, 0.01, 0.02, Undecided},
		{d, 0.1, 0.02, DifferentUp},
		{d + 1e-9, 0.1, 0.02, Above},
		{-0.1, -d - 1e-9, 0.02, Below},
		{0.001, 0.1, 0.02, DifferentUp},
		{-0.1, -0.001, 0.02, DifferentDown},
		{-0.1, 0.1, 0.02, Undecided},
		{0, 0.1, 0.02, Undecided},
		{0.001, 0.1, 0, Above},
		{0, 0, 0, Undecided},
		{-0.001, 0.001, -1, Undecided},
		{0, 0, 0.02, Equivalent},
		{math.Inf(-1), math.Inf(1), 0.02, Undecided},
		{math.NaN(), 1, 0.02, Undecided},
		{1, math.NaN(), 0.02, Undecided},
		{0.1, 0.2, math.NaN(), DifferentUp},
		{2, 1, 0.02, Undecided},
	} {
		if got := Judge(c.low, c.high, c.margin); got != c.want {
			t.Errorf("Judge(%g, %g, %g) = %d, want %d", c.low, c.high, c.margin, got, c.want)
		}
	}
}

func TestSwappingTheArmsMirrorsTheAnswer(t *testing.T) {
	mirror := map[Answer]Answer{
		Undecided: Undecided, Equivalent: Equivalent, Above: Below, Below: Above,
		DifferentUp: DifferentDown, DifferentDown: DifferentUp,
	}
	r := source(1)
	for range 20_000 {
		low := 0.1 * (r.Float64() - 0.5)
		high, margin := low+0.05*r.Float64(), 0.05*r.Float64()
		a, b := Judge(low, high, margin), Judge(-high, -low, margin)
		if mirror[a] != b {
			t.Fatalf("Judge(%g, %g, %g) = %d, mirrored %d", low, high, margin, a, b)
		}
	}
}
