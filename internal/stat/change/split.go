package change

import (
	"slices"

	"plimsoll/internal/stat"
)

// splitter finds the largest split of orders of the same values, in n log n steps for each order. The values on the left of a split are
// in a Fenwick tree by rank, which gives their number and sum below a value, and hence the distances to it.
//
// Source of the tree: Fenwick (1994), A new data structure for cumulative frequency tables.
type splitter struct {
	value []float64 // centred, for exact sums
	rank  []int     // from 1
	total []float64 // sum of the distances from a value to all others
	all   float64   // sum of the distances of all pairs
	tree  []node    // of the values on the left
}

// node is the number and the sum of some values.
type node struct{ count, sum float64 }

func newSplitter(values []float64) *splitter {
	n := len(values)
	s := &splitter{value: make([]float64, n), rank: make([]int, n), total: make([]float64, n), tree: make([]node, n+1)}
	center, _ := stat.Moments(values)
	sorted, sum := make([]int, n), 0.
	for i, v := range values {
		s.value[i], sorted[i] = v-center, i
		sum += s.value[i]
	}
	slices.SortStableFunc(sorted, func(a, b int) int { return compare(s.value[a], s.value[b]) })
	below := 0.
	for r, i := range sorted {
		v := s.value[i]
		s.rank[i] = r + 1
		s.total[i] = v*float64(r) - below + (sum - below - v) - v*float64(n-1-r)
		s.all += s.total[i] / 2
		below += v
	}
	return s
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// largest returns the split of an order with the largest scaled energy distance between its sides, which have least values or more each:
// the number of values on its left, and ab/(a+b) times the distance. Without a positive distance the number is 0.
func (s *splitter) largest(order []int, least int) (at int, largest float64) {
	clear(s.tree)
	n, within, outward, left := len(order), 0., 0., 0. // distances within the left side, those from it to all values, and its sum
	for k := 1; k <= n-least; k++ {
		i := order[k-1]
		v := s.value[i]
		count, sum := s.below(s.rank[i])
		within += v*count - sum + (left - sum) - v*(float64(k-1)-count)
		outward += s.total[i]
		left += v
		s.add(s.rank[i], v)
		if k < least {
			continue
		}
		between := outward - 2*within
		right := s.all - within - between
		a, b := float64(k), float64(n-k)
		energy := 2*between/(a*b) - 2*within/(a*(a-1)) - 2*right/(b*(b-1))
		if q := a * b / (a + b) * energy; q > largest+1e-12*s.all { // more than rounding
			at, largest = k, q
		}
	}
	return at, largest
}

// below returns the number and the sum of the values on the left up to a rank.
func (s *splitter) below(rank int) (count, sum float64) {
	for ; rank > 0; rank &= rank - 1 {
		count += s.tree[rank].count
		sum += s.tree[rank].sum
	}
	return count, sum
}

// add adds a value to the left.
func (s *splitter) add(rank int, v float64) {
	for ; rank < len(s.tree); rank += rank & -rank {
		s.tree[rank].count++
		s.tree[rank].sum += v
	}
}
