// Package change finds where the distribution of a series of runs changes: at once in a whole series, or watched run by run.
package change

import (
	"math"
	"math/rand/v2"

	"plimsoll/internal/stat"
)

// Rule says what counts as a change.
type Rule struct {
	Alpha   float64 // largest P
	Segment int     // fewest points on each side of a change, at least 2
	Margin  float64 // smallest Shift in either direction
	Seed    uint64
}

// Point is where a series changes.
type Point struct {
	At    int     // index of the first point after the change
	P     float64 // of the largest split of the segment in which it lies, by permutation
	Shift float64 // mean after minus mean before, each up to the neighbouring change
}

// fewestOrders bounds the number of permuted orders from below.
const fewestOrders = 199

// orders is the number of permuted orders with which P can fall to a quarter of Alpha.
func (r Rule) orders() int { return max(fewestOrders, int(math.Ceil(4/r.Alpha))-1) }

// segment is Segment, at least 2: the distances within a side need a pair.
func (r Rule) segment() int { return max(2, r.Segment) }

// Least is the number of points below which no series can have a change: two segments, and enough points that fewer than Alpha of
// their orders separate two groups as well as the order in which they came.
func (r Rule) Least() int {
	for n := 2 * r.segment(); ; n++ {
		ways := 1.0 // to choose half of n
		for i := range n / 2 {
			ways *= float64(n-i) / float64(i+1)
		}
		if 2/ways <= r.Alpha {
			return n
		}
	}
}

// points finds the changes of a series, in order. A segment is divided where the energy distance between its two sides is largest, if
// few permuted orders of its points have a split that large. Its sides are divided in turn. Since P is that of the largest split, it
// holds although the split was selected. Changes below the margin are removed, the smallest first. A value that is not finite gives no
// changes.
//
// P holds for any distribution, but for independent points only: drift and autocorrelation look like changes.
//
// Source: E-divisive, Matteson & James (2014), A nonparametric approach for multiple change point analysis of multivariate data, with
// exponent 1; p values of permutations, Phipson & Smyth (2010).
func points(series []float64, rule Rule) []Point {
	if !stat.Finite(series) || !(rule.Alpha > 0) {
		return nil
	}
	var found []Point
	var divide func(from, to int)
	divide = func(from, to int) {
		at, p := rule.division(series[from:to], uint64(from)<<32|uint64(to))
		if p > rule.Alpha {
			return
		}
		divide(from, from+at)
		found = append(found, Point{At: from + at, P: p})
		divide(from+at, to)
	}
	divide(0, len(series))
	return sizable(series, found, rule.Margin)
}

// division returns the largest split of a segment and its P, which is 1 where the segment has no split.
func (r Rule) division(segment []float64, stream uint64) (at int, p float64) {
	n := len(segment)
	if n < r.Least() {
		return 0, 1
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	s := newSplitter(segment)
	at, observed := s.largest(order, r.segment())
	if at == 0 {
		return 0, 1
	}
	source := rand.NewPCG(stat.Scatter(r.Seed), stat.Scatter(stream))
	of, beyond := float64(r.orders()+1), 1. // the order as it is
	for range r.orders() {
		for i := n - 1; i > 0; i-- {
			j := stat.Uniform(source, uint64(i)+1)
			order[i], order[j] = order[j], order[i]
		}
		if _, q := s.largest(order, r.segment()); q >= observed*(1-1e-9) { // equal, but for rounding
			beyond++
		}
		if beyond/of > r.Alpha { // which more orders cannot lower
			return at, beyond / of
		}
	}
	return at, beyond / of
}

// sizable removes the changes below a margin, the smallest first, since each removal joins the segments beside it.
func sizable(series []float64, found []Point, margin float64) []Point {
	for {
		small, least := -1, margin
		for i := range found {
			from, to := 0, len(series)
			if i > 0 {
				from = found[i-1].At
			}
			if i+1 < len(found) {
				to = found[i+1].At
			}
			before, _ := stat.Moments(series[from:found[i].At])
			after, _ := stat.Moments(series[found[i].At:to])
			found[i].Shift = after - before
			if size := math.Abs(found[i].Shift); size < least {
				small, least = i, size
			}
		}
		if small < 0 {
			return found
		}
		found = append(found[:small], found[small+1:]...)
	}
}
