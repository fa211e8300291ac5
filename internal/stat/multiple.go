package stat

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns adjusted p values: rejecting those at or below alpha keeps the family-wise
// error rate at alpha, whatever the dependence. The order is that of p. A NaN stays NaN and
// does not count as a test.
//
// Source: Holm (1979).
func Holm(p []float64) []float64 {
	order := ascending(p)
	out := adjusted(p)
	m, worst := len(order), 0.0
	for rank, i := range order {
		worst = max(worst, min(1, p[i]*float64(m-rank)))
		out[i] = worst
	}
	return out
}

// BenjaminiHochberg returns adjusted p values: rejecting those at or below q keeps the false
// discovery rate at q, for tests that are independent or positively dependent. The order is
// that of p. A NaN stays NaN and does not count as a test.
//
// Source: Benjamini & Hochberg (1995).
func BenjaminiHochberg(p []float64) []float64 {
	order := ascending(p)
	out := adjusted(p)
	m, best := len(order), 1.0
	for rank := m - 1; rank >= 0; rank-- {
		i := order[rank]
		best = min(best, p[i]*float64(m)/float64(rank+1))
		out[i] = best
	}
	return out
}

// ascending returns the indices of the numbers in p, smallest first.
func ascending(p []float64) []int {
	order := make([]int, 0, len(p))
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}

// adjusted returns a slice of n values, all NaN.
func adjusted(p []float64) []float64 {
	out := make([]float64, len(p))
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}
