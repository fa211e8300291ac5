package divvy

import (
	"cmp"
	"math/bits"
	"slices"
)

// claim is the claim of one sharer to an amount: at least floor, at most most, and in between
// in proportion to weight.
type claim struct {
	floor, most, weight int64
	give                int64
}

// Bounds against overflow of the sums below. A number beyond them counts as the bound.
const (
	mostAmount = 1 << 61
	mostWeight = 1 << 40
	mostSum    = 1 << 62
)

// plus adds amounts of at least 0, saturating at the bound.
func plus(a, b int64) int64 { return min(a+min(b, mostSum-a), mostSum) }

// within clamps a number between 0 and the largest amount.
func within(a int64) int64 { return max(0, min(a, mostAmount)) }

// level is the water level of a division: a sharer between its floor and its most has
// rest/weights per unit of weight.
type level struct{ rest, weights int64 }

// edge is a level at which a sharer rises above its floor (num is its floor), or reaches its
// most.
type edge struct {
	num, weight int64
	last        bool
}

// remainder is the part of a unit that rounding took from a sharer.
type remainder struct {
	part uint64
	at   int32
}

// filler divides amounts. It reuses its buffers.
type filler struct {
	edges      []edge
	remainders []remainder
}

// fill divides an amount among the claims by water filling, and reports whether it covers
// their floors. An amount above the sum of the mosts is left over. Below the sum of the
// floors, each gets the same part of its floor. Otherwise give is clamp(lambda * weight,
// floor, most) for all: lambda is found exactly, as a fraction, and units lost to rounding
// down go to the largest remainders, then in order.
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

// collect lists the edges of all claims whose floor is below their most.
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

// find is the level at which the claims take all of an amount between the sums of their floors
// and of their mosts. It partitions the edges around a pivot, as quickselect does, in linear
// expected time; the result does not depend on the pivot.
func (f *filler) find(floors, amount int64) level {
	edges := f.edges
	fixed, full, weights := floors, int64(0), int64(0) // at the current level
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

// reached reports whether water of the weights stands at an edge with at most rest of it.
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

// split partitions edges into those before p, those at it and those after it, and returns
// where the second and the third part begin.
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

// hand gives each claim its amount at the level, and distributes the units lost to rounding.
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

// compare compares the share of a weight at the level with an amount.
func (l level) compare(amount, weight int64) int {
	h1, l1 := bits.Mul64(uint64(l.rest), uint64(weight))
	h2, l2 := bits.Mul64(uint64(amount), uint64(l.weights))
	if h1 != h2 {
		return cmp.Compare(h1, h2)
	}
	return cmp.Compare(l1, l2)
}

// part is a*b/of, rounded down, with the remainder recorded. The callers ensure that the
// result fits: it is below an amount.
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

// sum adds floors without their lowest bits.
func sum(claims []claim, shift int) int64 {
	s := int64(0)
	for i := range claims {
		s = plus(s, claims[i].floor>>shift)
	}
	return s
}

// spread gives one unit each to the claims with the largest remainders.
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
