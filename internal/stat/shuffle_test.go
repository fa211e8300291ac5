package stat

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// The order that a printed seed stands for must never change.
func TestShuffleIsForever(t *testing.T) {
	var got []string
	for block := 1; block <= 4; block++ {
		got = append(got, fmt.Sprint(Shuffle(6, 42, block)))
	}
	want := []string{"[1 5 0 4 3 2]", "[0 4 5 2 1 3]", "[1 2 5 0 3 4]", "[5 1 3 2 0 4]"}
	if !slices.Equal(got, want) {
		t.Errorf("orders %q, want %q", got, want)
	}
}

func TestShuffleIsAPermutation(t *testing.T) {
	for n := range 40 {
		order := Shuffle(n, 9, n)
		slices.Sort(order)
		for i, v := range order {
			if i != v {
				t.Fatalf("Shuffle(%d) holds %v", n, order)
			}
		}
	}
	if got := Shuffle(-3, 1, 1); len(got) != 0 {
		t.Errorf("Shuffle(-3) = %v", got)
	}
}

// All orders equally often, and that of a block tells nothing about the next, for
// seeds and blocks that count up.
func TestShuffleIsFair(t *testing.T) {
	orders, follows := map[string]float64{}, map[string]float64{}
	const seeds, blocks = 600, 40
	for seed := range uint64(seeds) {
		last := 0
		for block := range blocks {
			order := Shuffle(4, seed, block)
			orders[fmt.Sprint(order)]++
			if block > 0 {
				follows[fmt.Sprint(last, order[0])]++
			}
			last = order[0]
		}
	}
	for what, c := range map[string]struct {
		counts map[string]float64
		cells  int
	}{"orders": {orders, 24}, "first of a block after first of the last": {follows, 16}} {
		var total, square float64
		for _, v := range c.counts {
			total += v
		}
		expected := total / float64(c.cells)
		for _, v := range c.counts {
			square += (v - expected) * (v - expected) / expected
		}
		// Chi-squared, five standard deviations.
		if df := float64(c.cells - 1); len(c.counts) != c.cells || square > df+5*math.Sqrt(2*df) {
			t.Errorf("%s: %d kinds, chi-squared %.1f with %g degrees of freedom", what, len(c.counts), square, df)
		}
	}
}
