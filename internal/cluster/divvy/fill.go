package divvy

import (
	"cmp"
	"math/bits"
	"slices"
)

// claim is what one of several sharers may have of an amount: at least floor, at most
// most, and between them in proportion to weight.
type claim struct {
	floor, most, weight int64
	give                int64
}

// Bounds that keep the sums below from overflowing. A number beyond them counts as the
// bound.
const (
	mostAmount = 1 << 61
	mostWeight = 1 << 40
	mostSum    = 1 << 62
)

// plus adds amounts of at least 0 and stays at the bound.
func plus(a, b int64) int64 { return min(a+min(b, mostSum-a), mostSum) }

// within is a number between 0 and the largest amount.
func within(a int64) int64 { return max(0, min(a, mostAmount)) }

// level is where an amount's water stands: a sharer between its floor and its most has
// rest/weights for each of its weight.
type level struct{ rest, weights int64 }

// edge is a level at which a sharer begins to get more than its floor (num is its
// floor), or has its most.
type edge struct {
	num, weight int64
	last        bool
}

// remainder is the part of a unit that a sharer was cut short by.
type remainder struct {
	part uint64
	at   int32
}

// filler divides amounts. It keeps its room between calls.
type filler struct {
	edges      []edge
	remainders []remainder
}

// fill divides an amount among the claims, and reports whether it covers their floors. What
// is over when all have their most is left. When the floors are not covered, each gets
// the same part of its own. Otherwise it is the one division in which give is
// clamp(lambda * weight, floor, most) for all: lambda is found exactly, as a fraction,
// and the units that rounding down leaves go to the largest remainders, then to those who
// come first.
func (f *filler) fill(claims []claim, amount int64) bool {
	floors, mosts := int64(0), int64(0)
	for i := range claims {
		floors, mosts = plus(floors, claims[i].floor), plus(mosts, claims[i].most)
	}
	switch {
	case amount < floors:
		f.scale(claims, amount)
		return false
	case amount >= mosts:
		for i := range claims {
			claims[i].give = claims[i].most
		}
		return true
	}
	f.collect(claims)
	f.hand(claims, f.find(floors, amount), amount)
	return true
}

// collect lists the edges of all claims that have room between floor and most.
func (f *filler) collect(claims []claim) {
	f.edges = f.edges[:0]
	for i := range claims {
		c := &claims[i]
		if c.floor < c.most && c.weight > 0 {
			f.edges = append(f.edges, edge{c.floor, c.weight, false}, edge{c.most, c.weight, true})
		}
	}
}

// compare orders edges by level: num/weight, without rounding.
func (e edge) compare(o edge) int {
	h1, l1 := bits.Mul64(uint64(e.num), uint64(o.weight))
	h2, l2 := bits.Mul64(uint64(o.num), uint64(e.weight))
	if h1 != h2 {
		return cmp.Compare(h1, h2)
	}
	return cmp.Compare(l1, l2)
}

// find is the level at which the claims take all of an amount between the sums of their
// floors and of their mosts. It halves the edges around a chosen one, as quickselect
// does, so that it takes linear time for most inputs; the result does not depend on what
// is chosen.
func (f *filler) find(floors, amount int64) level {
	edges := f.edges
	fixed, full, weights := floors, int64(0), int64(0) // at the level reached so far
	for len(edges) > 0 {
		p := middle(edges)
		below, above := split(edges, p)
		nowFixed, nowFull, nowWeights := fixed, full, weights
		for _, e := range edges[:above] {
			if e.last {
				nowFull, nowWeights = plus(nowFull, e.num), nowWeights-e.weight
			} else {
				nowFixed, nowWeights = nowFixed-e.num, nowWeights+e.weight
			}
		}
		if reached(p, amount-nowFixed-nowFull, nowWeights) {
			fixed, full, weights = nowFixed, nowFull, nowWeights
			edges = edges[above:]
		} else {
			edges = edges[:below]
		}
	}
	return level{amount - fixed - full, weights}
}

// reached reports whether water of the weights stands at an edge when there is no more than
// rest of it.
func reached(p edge, rest, weights int64) bool {
	if rest < 0 {
		return false
	}
	h1, l1 := bits.Mul64(uint64(p.num), uint64(weights))
	h2, l2 := bits.Mul64(uint64(rest), uint64(p.weight))
	return h1 < h2 || h1 == h2 && l1 <= l2
}

// middle is the median of three of the edges.
func middle(edges []edge) edge {
	a, b, c := edges[0], edges[len(edges)/2], edges[len(edges)-1]
	if a.compare(b) > 0 {
		a, b = b, a
	}
	if b.compare(c) > 0 {
		b = c
	}
	if a.compare(b) > 0 {
		b = a
	}
	return b
}

// split sorts edges into those before p, those at it and those after it, and says where
// the second and the third part begin.
func split(edges []edge, p edge) (at, after int) {
	after = len(edges)
	for i := 0; i < after; {
		switch c := edges[i].compare(p); {
		case c < 0:
			edges[at], edges[i] = edges[i], edges[at]
			at++
			i++
		case c > 0:
			after--
			edges[i], edges[after] = edges[after], edges[i]
		default:
			i++
		}
	}
	return at, after
}

// hand gives each claim what the level says, and spreads what rounding left.
func (f *filler) hand(claims []claim, l level, amount int64) {
	f.remainders = f.remainders[:0]
	left := amount
	for i := range claims {
		c := &claims[i]
		switch {
		case l.compare(c.floor, c.weight) <= 0:
			c.give = c.floor
		case l.compare(c.most, c.weight) >= 0:
			c.give = c.most
		default:
			c.give = f.part(uint64(l.rest), uint64(c.weight), uint64(l.weights), i)
		}
		left -= c.give
	}
	f.spread(claims, left)
}

// compare reports whether a weight at the level has less than, just or more than an amount.
func (l level) compare(amount, weight int64) int {
	h1, l1 := bits.Mul64(uint64(l.rest), uint64(weight))
	h2, l2 := bits.Mul64(uint64(amount), uint64(l.weights))
	if h1 != h2 {
		return cmp.Compare(h1, h2)
	}
	return cmp.Compare(l1, l2)
}

// part is a*b/of, rounded down, with the remainder noted. The result must fit, which the
// callers know because it is below an amount.
func (f *filler) part(a, b, of uint64, i int) int64 {
	hi, lo := bits.Mul64(a, b)
	q, r := bits.Div64(hi, lo, of)
	if r > 0 {
		f.remainders = append(f.remainders, remainder{r, int32(i)})
	}
	return int64(q)
}

// scale gives each claim the same part of its floor.
func (f *filler) scale(claims []claim, amount int64) {
	shift, floors := 0, int64(0)
	for floors = sum(claims, shift); floors >= mostSum; floors = sum(claims, shift) {
		shift++
	}
	f.remainders = f.remainders[:0]
	left := amount
	for i := range claims {
		c := &claims[i]
		c.give = f.part(uint64(amount), uint64(c.floor>>shift), uint64(floors), i)
		left -= c.give
	}
	f.spread(claims, left)
}

// sum adds floors of which the lowest bits are dropped.
func sum(claims []claim, shift int) int64 {
	s := int64(0)
	for i := range claims {
		s = plus(s, claims[i].floor>>shift)
	}
	return s
}

// spread gives a unit each to the claims with the largest remainders.
func (f *filler) spread(claims []claim, left int64) {
	if left <= 0 {
		return
	}
	slices.SortFunc(f.remainders, func(a, b remainder) int {
		if a.part != b.part {
			return cmp.Compare(b.part, a.part)
		}
		return cmp.Compare(a.at, b.at)
	})
	for _, r := range f.remainders[:min(left, int64(len(f.remainders)))] {
		claims[r.at].give++
	}
}
