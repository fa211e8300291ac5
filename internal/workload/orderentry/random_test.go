package orderentry

import (
	"math"
	"strings"
	"testing"

	"plimsoll/internal/measure"
)

// exact is the chance of each value of NURand(a, lowest, highest), by counting all
// pairs of draws.
func exact(a, c, lowest, highest int) []float64 {
	n := highest - lowest + 1
	p := make([]float64, n)
	for x := 0; x <= a; x++ {
		for y := lowest; y <= highest; y++ {
			p[((x|y)+c)%n] += 1 / float64((a+1)*n)
		}
	}
	return p
}

// unlikely is by how many standard deviations the chi-square statistic of counts lies
// above its mean (Wilson and Hilferty).
func unlikely(counts []int, p []float64) float64 {
	total, chi, degrees := 0, 0., -1.
	for _, n := range counts {
		total += n
	}
	// Rare values are judged together: each term needs some five expected.
	rare, few := 0., 0
	add := func(n int, e float64) {
		chi += (float64(n) - e) * (float64(n) - e) / e
		degrees++
	}
	for i, n := range counts {
		if e := p[i] * float64(total); e >= 5 {
			add(n, e)
		} else {
			rare, few = rare+e, few+n
		}
	}
	if rare >= 5 {
		add(few, rare)
	} else if rare == 0 && few > 0 {
		return math.Inf(1)
	}
	k := degrees
	return (math.Cbrt(chi/k) - (1 - 2/(9*k))) / math.Sqrt(2/(9*k))
}

// The non-uniform draws follow their law, and a planted wrong constant does not.
func TestNonUniform(t *testing.T) {
	z := size{warehouses: 1, items: 100_000, customers: 3000}
	for _, c := range []struct {
		what           string
		draw           func(s *source) int
		a, c, from, to int
	}{
		{"customers", func(s *source) int { return s.customer(z) }, 1023, customerDraw, 1, 3000},
		{"last names", func(s *source) int { return s.lastNumber(z, lastRunning) }, 255, lastRunning, 0, 999},
		{"names of 60 customers", func(s *source) int { return s.lastNumber(size{customers: 60}, lastLoading) }, 255, lastLoading, 0, 59},
	} {
		s := newSource(11, 1)
		counts := make([]int, c.to-c.from+1)
		for range 400_000 {
			counts[c.draw(s)-c.from]++
		}
		if far := unlikely(counts, exact(c.a, c.c, c.from, c.to)); far > 4.5 {
			t.Errorf("%s: %.1f standard deviations from the law", c.what, far)
		}
		for _, wrong := range [][2]int{{c.a, c.c + 1}, {c.a >> 1, c.c}} {
			if far := unlikely(counts, exact(wrong[0], wrong[1], c.from, c.to)); far < 10 {
				t.Errorf("%s: A %d and C %d instead of %d and %d are not noticed: %.1f", c.what, wrong[0], wrong[1], c.a, c.c, far)
			}
		}
	}
}

// Items are too many to count all pairs: their law is compared in 1000 bands.
func TestNonUniformItems(t *testing.T) {
	z := size{items: 100_000}
	s, other := newSource(1, 1), newSource(2, 2)
	bands := func(draw func() int) []int {
		counts := make([]int, 1000)
		for range 300_000 {
			counts[(draw()-1)%1000]++
		}
		return counts
	}
	expected := make([]float64, 1000)
	for i, c := range bands(func() int { return other.nonUniform(8191, itemDraw, 1, 100_000) }) {
		expected[i] = float64(c) / 300_000
	}
	far := unlikely(bands(func() int { return s.item(z) }), expected)
	uniform := unlikely(bands(func() int { return s.between(1, 100_000) }), expected)
	if far > 30 || uniform < 2*far {
		t.Errorf("items are %.1f from their law, uniform ones %.1f", far, uniform)
	}
}

func TestConstants(t *testing.T) {
	if d := lastRunning - lastLoading; d < 65 || d > 119 || d == 96 || d == 112 {
		t.Errorf("the constants of the last names differ by %d", d)
	}
	if got := string(appendLast(nil, 371)); got != "PRICALLYOUGHT" {
		t.Errorf("371 is %s", got)
	}
	if got := string(appendLast(nil, 40)); got != "BARPRESBAR" {
		t.Errorf("40 is %s", got)
	}
	sum := 0
	for _, share := range deck {
		sum += share
	}
	if sum != 100 || deck[payment] != 43 || deck[delivery] != 4 {
		t.Errorf("the mix is %v", deck)
	}
}

// drawn is what so many transactions ask for.
func drawn(n int) *tally {
	t := &terminal{source: newSource(3, 4), z: size{warehouses: 5, items: 1000, customers: 300}, tally: &tally{}}
	for range n {
		k := t.source.draw()
		t.begin(k)
		t.tally.done[k]++
	}
	return t.tally
}

func TestDistribution(t *testing.T) {
	sum := drawn(200_000)
	if c := sum.check(5); c.State != measure.Pass {
		t.Error(c.Detail)
	}
	// A planted fault of each kind is noticed.
	for what, spoil := range map[string]func(*tally){
		"rollbacks":  func(s *tally) { s.invalid = s.invalid * 3 / 2 },
		"last names": func(s *tally) { s.byName = s.looked / 2 },
		"payments":   func(s *tally) { s.done[payment] = s.done[payment] * 9 / 10 },
		"deliveries": func(s *tally) { s.done[delivery] = s.done[delivery] * 3 / 4 },
		"remote":     func(s *tally) { s.remoteLines = 0 },
		"lines":      func(s *tally) { s.lines += 2 * s.orders },
	} {
		spoilt := *sum
		spoil(&spoilt)
		if c := spoilt.check(5); c.State != measure.Fail {
			t.Errorf("%s: %s", what, c.Detail)
		}
	}
	if c := (&tally{}).check(1); c.State != measure.Unknown {
		t.Errorf("nothing was drawn: %+v", c)
	}
}

// The client's counts are held against the server's.
func TestCounted(t *testing.T) {
	sum := tally{orders: 100, placed: 90, rolled: 1, due: 50_000, paid: 47_000}
	for district, want := range map[int64]measure.State{89: measure.Fail, 90: measure.Pass, 99: measure.Pass, 100: measure.Fail} {
		if c := sum.ordered(district); c.State != want {
			t.Errorf("%d: %+v", district, c)
		}
	}
	for district, want := range map[int64]measure.State{46_999: measure.Fail, 47_000: measure.Pass, 50_000: measure.Pass, 50_001: measure.Fail} {
		if c := sum.settled(district); c.State != want || !strings.HasPrefix(c.Detail, "the load paid 470.00, ") {
			t.Errorf("%d: %+v", district, c)
		}
	}
}
