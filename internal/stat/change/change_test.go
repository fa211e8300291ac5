package change

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/effort"
)

func TestMain(m *testing.M) {
	effort.CollectSeldom()
	m.Run()
}

// the rule of the trend, on logarithms.
func trendRule(seed uint64) Rule {
	return Rule{Alpha: 0.002, Segment: 5, Margin: math.Log(1.02), Seed: seed}
}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// noise is n normal values of a standard deviation.
func noise(r *rand.Rand, n int, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = sd * r.NormFloat64()
	}
	return x
}

// step adds a shift from a point on.
func step(x []float64, at int, shift float64) []float64 {
	for i := at; i < len(x); i++ {
		x[i] += shift
	}
	return x
}

// energy is the scaled energy distance of a split by its definition.
func energy(x []float64, k int) float64 {
	mean := func(a, b []float64, same bool) float64 {
		sum, n := 0., 0.
		for i := range a {
			for j := range b {
				if !same || i != j {
					sum, n = sum+math.Abs(a[i]-b[j]), n+1
				}
			}
		}
		return sum / n
	}
	a, b := x[:k], x[k:]
	n, m := float64(k), float64(len(b))
	return n * m / (n + m) * (2*mean(a, b, false) - mean(a, a, true) - mean(b, b, true))
}

func TestTheLargestSplitIsThatOfTheDefinition(t *testing.T) {
	r := source(1)
	for round := range 60 {
		n := 10 + r.IntN(40)
		x := make([]float64, n)
		for i := range x {
			x[i] = 1000 + math.Round(r.NormFloat64()*float64(1+round%3)) // with ties
		}
		order := r.Perm(n)
		permuted := make([]float64, n)
		for i, j := range order {
			permuted[i] = x[j]
		}
		wantAt, want := 0, 0.
		for k := 5; k <= n-5; k++ {
			if q := energy(permuted, k); q > want+1e-9 {
				wantAt, want = k, q
			}
		}
		at, got := newSplitter(x).largest(order, 5)
		if math.Abs(got-want) > 1e-8 || at != wantAt {
			t.Fatalf("round %d, %d values: split %d with %g, want %d with %g", round, n, at, got, wantAt, want)
		}
	}
}

func TestNoiseHasAsManyChangesAsTheRuleAllows(t *testing.T) {
	t.Parallel()
	histories := effort.Rate(300, 4000)
	found := 0
	for seed := range uint64(histories) {
		if len(points(noise(source(seed), 60, 1), Rule{Alpha: 0.05, Segment: 5, Seed: seed})) > 0 {
			found++
		}
	}
	rate := float64(found) / float64(histories)
	t.Logf("%.3f of %d series of 60 points of noise have a change at 0.05", rate, histories)
	if slack := 3 * math.Sqrt(.05*.95/float64(histories)); rate > .05+slack || rate < .05-slack-.02 { // 0.44 with a t test of the best split
		t.Errorf("%.3f of the series have a change, want about 0.05", rate)
	}
}

func TestAStepOfOneAndAHalfStandardDeviationsIsFound(t *testing.T) {
	t.Parallel()
	histories := effort.Rate(150, 2000)
	found, near := 0, 0
	for seed := range uint64(histories) {
		changes := points(step(noise(source(seed), 60, 1), 40, 1.5), Rule{Alpha: 0.05, Segment: 5, Seed: seed})
		if len(changes) > 0 {
			found++
		}
		if slices.ContainsFunc(changes, func(p Point) bool { return p.At >= 38 && p.At <= 42 }) {
			near++
		}
	}
	n := float64(histories)
	t.Logf("found in %.3f, within two points in %.3f of %d", float64(found)/n, float64(near)/n, histories)
	if float64(found) < .95*n || float64(near) < .7*n {
		t.Errorf("found in %d and within two points in %d of %d series", found, near, histories)
	}
}

func TestASpikeIsNoChange(t *testing.T) {
	for seed := range uint64(40) {
		x := noise(source(seed), 60, 0.01)
		x[20+int(seed)] += 3
		if found := points(x, trendRule(seed)); len(found) > 0 {
			t.Errorf("seed %d: a spike at %d is a change at %d", seed, 20+seed, found[0].At)
		}
	}
}

func TestWhatHasNoChange(t *testing.T) {
	constant := make([]float64, 50)
	for name, x := range map[string][]float64{
		"none": nil, "one": {1}, "constant": constant, "not a number": append(step(make([]float64, 40), 20, 1), math.NaN()),
		"infinite": append(step(make([]float64, 40), 20, 1), math.Inf(1)), "below the margin": step(make([]float64, 60), 30, 0.01),
	} {
		if found := points(x, trendRule(1)); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
		if w := Watch(x, trendRule(1)); len(w.Changes) > 0 || w.Alarms > 0 {
			t.Errorf("%s, watched: %+v", name, w)
		}
	}
}

func TestFromTheLeastPointsOnAStepCanBeSeen(t *testing.T) {
	rule := trendRule(1)
	n := rule.Least()
	if n != 13 {
		t.Fatalf("%d points, want 13: 2/C(13, 6) is the first below 0.002", n)
	}
	clear := func(n int) []float64 {
		return step(noise(source(3), n, 1e-4), n/2, 1)
	}
	if found := points(clear(n-1), rule); len(found) > 0 {
		t.Errorf("with %d points there is a change: %v", n-1, found)
	}
	seen := 0
	for seed := range uint64(40) {
		rule.Seed = seed
		if found := points(clear(n+1), rule); len(found) == 1 && found[0].At == (n+1)/2 {
			seen++
		}
	}
	if seen < 36 {
		t.Errorf("with %d points a clear step is seen with %d of 40 seeds", n+1, seen)
	}
}

// Two changes of which one is below the margin.
func TestSmallChangesAreRemoved(t *testing.T) {
	x := step(step(noise(source(5), 90, 0.001), 30, 0.01), 60, 0.05)
	found := points(x, trendRule(5))
	if len(found) != 1 || found[0].At != 60 || math.Abs(found[0].Shift-0.055) > 0.002 {
		t.Errorf("%+v, want one change at 60 of 0.055", found)
	}
}
