package keyvalue

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// law draws the keys of operations, as numbers from 0 below a count. It is never
// written once it is made, so that all threads may share it.
type law interface {
	draw(source *rand.PCG) int64
}

// uniform draws every key alike.
type uniform struct{ keys uint64 }

func (u uniform) draw(source *rand.PCG) int64 { return int64(below(source, u.keys)) }

// below draws a number below n by multiplication (Lemire 2019, Fast random integer
// generation in an interval), which rejects what would make some more likely.
func below(source *rand.PCG, n uint64) uint64 {
	high, low := bits.Mul64(source.Uint64(), n)
	if low < n {
		for least := -n % n; low < least; {
			high, low = bits.Mul64(source.Uint64(), n)
		}
	}
	return high
}

// unit draws a number in [0, 1).
func unit(source *rand.PCG) float64 { return float64(source.Uint64()>>11) / (1 << 53) }

// zipf draws the key of rank k with a probability proportional to 1/k^skew, by
// rejection from the inverse of the integral: Hörmann and Derflinger 1996,
// Rejection-inversion to generate variates from monotone discrete distributions,
// ACM TOMACS 6(3). It is exact for any skew, needs no table, and rejects a small
// share of its draws. Ranks are spread over the keys.
type zipf struct {
	skew        float64
	keys        int64
	first, last float64 // integrals up to where the first and the last rank begin and end
	squeeze     float64 // a draw that lies so close below its rank is never rejected
	ranks       scatter
}

func newZipf(keys int64, skew float64, seed uint64) *zipf {
	z := &zipf{skew: skew, keys: keys, ranks: newScatter(uint64(keys), seed)}
	z.first = z.integral(1.5) - 1
	z.last = z.integral(float64(keys) + .5)
	z.squeeze = 2 - z.inverse(z.integral(2.5)-z.density(2))
	return z
}

func (z *zipf) draw(source *rand.PCG) int64 { return int64(z.ranks.place(uint64(z.rank(source) - 1))) }

// rank draws a rank from 1.
func (z *zipf) rank(source *rand.PCG) int64 {
	for {
		u := z.last + unit(source)*(z.first-z.last)
		x := z.inverse(u)
		k := min(max(int64(x+.5), 1), z.keys)
		if float64(k)-x <= z.squeeze || u >= z.integral(float64(k)+.5)-z.density(float64(k)) {
			return k
		}
	}
}

func (z *zipf) density(x float64) float64 { return math.Exp(-z.skew * math.Log(x)) }

// integral is that of the density from 1 to x: (x^(1-skew) - 1) / (1-skew), and ln x
// where the skew is 1, in a form that does not cancel beside it.
func (z *zipf) integral(x float64) float64 {
	l := math.Log(x)
	t := (1 - z.skew) * l
	if math.Abs(t) < 1e-8 {
		return l * (1 + t/2)
	}
	return l * math.Expm1(t) / t
}

func (z *zipf) inverse(y float64) float64 {
	t := max(-1, y*(1-z.skew)) // below -1 by rounding alone
	if math.Abs(t) < 1e-8 {
		return math.Exp(y * (1 - t/2))
	}
	return math.Exp(y * math.Log1p(t) / t)
}

// scatter is a permutation of the numbers below a count that looks random, so
// that neighbours in rank are none as keys. Multiplying by an odd number and folding
// the upper bits into the lower each permute the numbers of a power of two; where
// the result is too large, it is permuted again.
type scatter struct {
	count, mask uint64
	shift       int
	factors     [3]uint64
}

func newScatter(count, seed uint64) scatter {
	width := max(1, bits.Len64(count-1))
	s := scatter{count: count, mask: 1<<width - 1, shift: (width + 1) / 2}
	source := rand.NewPCG(seed, 0x73636174746572)
	for i := range s.factors {
		s.factors[i] = source.Uint64() | 1
	}
	return s
}

func (s *scatter) place(n uint64) uint64 {
	for {
		for _, f := range s.factors {
			n = (n + f>>32) * f & s.mask
			n ^= n >> s.shift
		}
		if n < s.count {
			return n
		}
	}
}
