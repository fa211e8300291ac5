package orderentry

import "math/rand/v2"

// source draws what the load and the data are made of.
type source struct {
	rand.PCG
	seed uint64
}

func newSource(seed, stream uint64) *source { return &source{*rand.NewPCG(seed, stream), seed} }

// between is uniform over lowest..highest, both included.
func (s *source) between(lowest, highest int) int {
	n := uint64(highest - lowest + 1)
	return lowest + int((s.Uint64()>>32)*n>>32)
}

// chance is true in so many of a hundred cases.
func (s *source) chance(percent int) bool { return s.between(1, 100) <= percent }

// The constants C of the non-uniform draws. Those of the last names differ between
// loading and running by 66, which lies between 65 and 119 and is neither 96 nor
// 112, as the specification asks.
const (
	lastLoading  = 157
	lastRunning  = 223
	customerDraw = 259
	itemDraw     = 7911
)

// nonUniform is NURand(a, lowest, highest) of clause 2.1.6.
func (s *source) nonUniform(a, c, lowest, highest int) int {
	return ((s.between(0, a)|s.between(lowest, highest))+c)%(highest-lowest+1) + lowest
}

// customer draws a customer of a district, and item an item.
func (s *source) customer(z size) int { return s.nonUniform(1023, customerDraw, 1, z.customers) }
func (s *source) item(z size) int     { return s.nonUniform(8191, itemDraw, 1, z.items) }

// lastNumber draws the number of a last name that some customer has.
func (s *source) lastNumber(z size, c int) int {
	return s.nonUniform(255, c, 0, min(lastNames, z.customers)-1)
}

// lastNames is how many last names there are.
const lastNames = 1000

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// appendLast appends the last name of a number below lastNames: a syllable for each
// of its three digits.
func appendLast(b []byte, number int) []byte {
	b = append(b, syllables[number/100]...)
	b = append(b, syllables[number/10%10]...)
	return append(b, syllables[number%10]...)
}

const (
	alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,"
	numerals = "0123456789"
)

// letters appends shortest..longest random letters and digits.
func (s *source) letters(b []byte, shortest, longest int) []byte {
	n := s.between(shortest, longest)
	for n > 0 {
		r := s.Uint64()
		for range min(n, 10) {
			b = append(b, alphabet[r&63])
			r >>= 6
		}
		n -= min(n, 10)
	}
	return b
}

// digits appends shortest..longest random digits.
func (s *source) digits(b []byte, shortest, longest int) []byte {
	for range s.between(shortest, longest) {
		b = append(b, numerals[s.between(0, 9)])
	}
	return b
}

// zip appends a zip code: four digits and 11111.
func (s *source) zip(b []byte) []byte { return append(s.digits(b, 4, 4), "11111"...) }

// marked appends 26..50 letters that hold ORIGINAL in a tenth of the cases.
func (s *source) marked(b []byte) []byte {
	const mark = "ORIGINAL"
	at := len(b)
	b = s.letters(b, 26, 50)
	if s.chance(10) {
		copy(b[at+s.between(0, len(b)-at-len(mark)):], mark)
	}
	return b
}

// shuffled is a permutation of 1..n.
func (s *source) shuffled(n int) []int32 {
	p := make([]int32, n)
	for i := range p {
		p[i] = int32(i + 1)
	}
	for i := n - 1; i > 0; i-- {
		k := s.between(0, i)
		p[i], p[k] = p[k], p[i]
	}
	return p
}
