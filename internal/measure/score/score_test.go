package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// published are results that were published with their parts: operations per hour, the scores
// of applications and operations, and the overall score.
var published = []struct {
	perHour                  []float64
	applications, operations float64
	overall                  string // to three digits, computed from the parts
}{
	{[]float64{28, 24, 20, 6.5}, 11.18, 1.07, "9.158"},
	{[]float64{28.5, 26, 21, 6.5}, 13.90, 1.11, "11.342"},
	{[]float64{28, 25, 21, 6.5}, 14.81, 1.09, "12.066"},
}

func TestCombineMatchesPublishedResults(t *testing.T) {
	for _, p := range published {
		if got := fmt.Sprintf("%.3f", combine(p.applications, p.operations).Score); got != p.overall {
			t.Errorf("combine(%g, %g) = %s, published %s", p.applications, p.operations, got, p.overall)
		}
	}
	if got := fmt.Sprintf("%.2f", combine(11.18, 1.07).Score); got != "9.16" {
		t.Errorf("the first result prints as %s, published 9.16", got)
	}
}

// The reference rates were not published. One geometric mean of them between 16.06 and 16.14
// must explain the published score of operations of all three results.
func TestOneReferenceExplainsPublishedOperations(t *testing.T) {
	want := [][2]string{{"15.99", "16.14"}, {"15.99", "16.14"}, {"16.06", "16.20"}}
	for i, p := range published {
		mean, err := geometricMean(p.perHour)
		if err != nil {
			t.Fatal(err)
		}
		low, high := fmt.Sprintf("%.2f", mean/(p.operations+0.005)), fmt.Sprintf("%.2f", mean/(p.operations-0.005))
		if low != want[i][0] || high != want[i][1] {
			t.Errorf("result %d: the reference is between %s and %s, want %v", i, low, high, want[i])
		}
		for _, reference := range []float64{16.07, 16.10, 16.13} {
			ratios := make([]float64, len(p.perHour))
			for k, v := range p.perHour {
				ratio, err := Ratio(v, reference)
				if err != nil {
					t.Fatal(err)
				}
				ratios[k] = ratio
			}
			s, err := Of([]Tile{{p.applications}}, ratios)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprintf("%.2f", s.Overall.Operations), fmt.Sprintf("%.2f", p.operations); got != want {
				t.Errorf("result %d with a reference of %g: operations score %s, published %s", i, reference, got, want)
			}
		}
	}
}

func TestEffectiveShareOfOperations(t *testing.T) {
	o := combine(11.18, 1.07)
	if got := fmt.Sprintf("%.1f %%", 100*o.OperationsShare); got != "2.3 %" {
		t.Errorf("operations make %s of the score, want 2.3 %%", got)
	}
	near(t, "sum of the shares", o.ApplicationsShare+o.OperationsShare, 1)
	if none := combine(0, 0); none.ApplicationsShare != 0 || none.OperationsShare != 0 {
		t.Errorf("shares of a score of 0: %+v, want 0", none)
	}
}

func TestPerKilowattMatchesPublishedResults(t *testing.T) {
	s := Score{Tiles: make([]float64, 9), Overall: &Overall{Score: 9.02}}
	if s.String() != "9.02 @ 9" {
		t.Errorf("String() = %q", s.String())
	}
	for _, k := range []struct {
		perKilowatt string
		watts       float64
		kilowatts   string
	}{{"6.3290", 9.02 / 6.3290 * 1000, "1.43"}, {"3.5013", 9.02 / 3.5013 * 1000, "2.58"}} {
		got, err := s.PerKilowatt(k.watts)
		if err != nil || fmt.Sprintf("%.4f", got) != k.perKilowatt {
			t.Errorf("PerKilowatt(%g) = %g, %v; published %s", k.watts, got, err, k.perKilowatt)
		}
		if got := fmt.Sprintf("%.2f", k.watts/1000); got != k.kilowatts {
			t.Errorf("%s per kW implies %s kW, want %s", k.perKilowatt, got, k.kilowatts)
		}
	}
	for _, watts := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := s.PerKilowatt(watts); err == nil {
			t.Errorf("PerKilowatt(%g) did not fail", watts)
		}
	}
}

func TestWithoutOperationsOnlyApplicationsScore(t *testing.T) {
	s, err := Of([]Tile{{1, 1}, {1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Overall != nil {
		t.Errorf("an overall score without operations: %+v", s.Overall)
	}
	if name, value := s.Headline(); name != "score.applications" || value != 2 {
		t.Errorf("Headline() = %s %g, want score.applications 2", name, value)
	}
	s, err = Of([]Tile{{1, 1}, {1}}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	if name, value := s.Headline(); name != "score" || math.Abs(value-1.8) > 1e-12 {
		t.Errorf("Headline() = %s %g, want score 1.8", name, value)
	}
}

func TestOneMemberThatDidNothingMakesItsTileZero(t *testing.T) {
	s, err := Of([]Tile{{1, 2, 0.5}, {3, 0, 2}, {2, 2}}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "tile 1", s.Tiles[0], 1)
	if s.Tiles[1] != 0 || s.Worst != 1 {
		t.Errorf("tile 2 scored %g and the worst is %d, want 0 and 1", s.Tiles[1], s.Worst)
	}
	near(t, "applications", s.Applications, 3)
	near(t, "fairness", s.Fairness, 9.0/(3*5))
	near(t, "score where operations failed", combine(3, 0).Score, 2.4)
}

func TestRatiosTimesKGiveScoreTimesK(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		tiles, operations := random(r)
		before, err := Of(tiles, operations)
		if err != nil {
			t.Fatal(err)
		}
		k := math.Exp(4 * (r.Float64() - 0.5))
		for _, tile := range tiles {
			scale(tile, k)
		}
		scale(operations, k)
		after, err := Of(tiles, operations)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "applications", after.Applications, k*before.Applications)
		near(t, "score", after.Overall.Score, k*before.Overall.Score)
		near(t, "share", after.Overall.OperationsShare, before.Overall.OperationsShare)
		near(t, "fairness", after.Fairness, before.Fairness)
		if after.Worst != before.Worst {
			t.Errorf("the worst tile is %d, was %d", after.Worst, before.Worst)
		}
	}
}

func TestOrderAndCopiesOfTiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		tiles, operations := random(r)
		before, err := Of(tiles, operations)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Of(append(append([]Tile{}, tiles...), tiles...), operations)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "applications of every tile twice", twice.Applications, 2*before.Applications)
		near(t, "operations beside twice the tiles", twice.Overall.Operations, before.Overall.Operations)
		near(t, "fairness of every tile twice", twice.Fairness, before.Fairness)
		worst := before.Tiles[before.Worst]
		r.Shuffle(len(tiles), func(i, j int) { tiles[i], tiles[j] = tiles[j], tiles[i] })
		shuffled, err := Of(tiles, operations)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "applications in another order", shuffled.Applications, before.Applications)
		if shuffled.Tiles[shuffled.Worst] != worst {
			t.Errorf("the worst tile scored %g, in another order %g", worst, shuffled.Tiles[shuffled.Worst])
		}
	}
}

func TestFairness(t *testing.T) {
	for _, k := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{2, 2, 2}, 1},
		{[]float64{5, 0, 0, 0}, 0.25},
		{[]float64{0, 0}, 1},
		{[]float64{1, 2, 3}, 36.0 / 42},
		{[]float64{1e300, 1e300}, 1},
	} {
		near(t, fmt.Sprint(k.values), fairness(k.values), k.want)
	}
}

func TestGeometricMeanOfExtremes(t *testing.T) {
	got, err := geometricMean([]float64{1e300, 1e300, 1e-300, 1e-300})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean of extremes", got, 1)
}

func TestInputThatIsRefused(t *testing.T) {
	for _, k := range []struct {
		tiles      []Tile
		operations []float64
		want       string
	}{
		{nil, nil, "no tile"},
		{[]Tile{{1}, {}}, nil, "tile 2"},
		{[]Tile{{1, -1}}, nil, "tile 1"},
		{[]Tile{{math.NaN()}}, nil, "at least 0"},
		{[]Tile{{math.Inf(1)}}, nil, "at least 0"},
		{[]Tile{{1}}, []float64{math.NaN()}, "operations"},
	} {
		_, err := Of(k.tiles, k.operations)
		if err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("Of(%v, %v): %v, want an error with %q", k.tiles, k.operations, err, k.want)
		}
	}
	for _, k := range [][2]float64{{1, 0}, {1, -2}, {1, math.NaN()}, {1, math.Inf(1)}, {-1, 1}, {math.NaN(), 1}, {math.Inf(1), 1}} {
		if got, err := Ratio(k[0], k[1]); err == nil {
			t.Errorf("Ratio(%g, %g) = %g, want an error", k[0], k[1], got)
		}
	}
	if got, err := Ratio(43.1, 43.1); err != nil || got != 1 {
		t.Errorf("Ratio of the reference = %g, %v; want 1", got, err)
	}
}

func random(r *rand.Rand) (tiles []Tile, operations []float64) {
	draw := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Exp(2 * r.NormFloat64())
		}
		return out
	}
	for range 1 + r.IntN(8) {
		tiles = append(tiles, draw(1+r.IntN(5)))
	}
	return tiles, draw(1 + r.IntN(4))
}

func scale(values []float64, k float64) {
	for i := range values {
		values[i] *= k
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-10*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %.15g, want %.15g", what, got, want)
	}
}
