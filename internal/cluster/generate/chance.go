package generate

import (
	"math"
	"math/bits"
)

// one is 1 in fixed-point numbers with sixteen fractional bits, used for all computations.
const one = 1 << 16

// hash mixes numbers so that every bit of the result depends on all of them (the finalizer of
// SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
func hash(seed uint64, of ...uint64) uint64 {
	h := seed
	for _, x := range of {
		h = (h ^ x) + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// normal approximates a standard normal deviate by the sum of four uniform ones, which is
// within 3.5 deviations.
func normal(h uint64) int64 {
	const rootOfThree = 113512 // in units of one: four uniform deviates have a deviation of one over it
	sum := int64(h&0xffff) + int64(h>>16&0xffff) + int64(h>>32&0xffff) + int64(h>>48)
	return (sum - 2*0xffff) * rootOfThree >> 16
}

// stream is a sequence of random numbers.
type stream struct{ seed, n uint64 }

func (s *stream) next() uint64 { s.n++; return hash(s.seed, s.n) }

// below is a number from 0 to n-1; 0 if n is not above 0.
func (s *stream) below(n int) int {
	if n <= 0 {
		return 0
	}
	high, _ := bits.Mul64(s.next(), uint64(n))
	return int(high)
}

// pick is a random index of a list of weights.
func (s *stream) pick(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := s.below(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

// logNormal is a log-normal deviate with the given median and deviation of the
// logarithm, rounded, and at least 1.
func logNormal(median, sigma float64, h uint64) int64 {
	return max(1, int64(math.Round(median*math.Exp(sigma*float64(normal(h))/one))))
}

// tables hold precomputed values.
type tables struct {
	day  [minutesPerDay]int64
	week [minutesPerWeek / weekStep]int64
	pull [depth]int64 // weight of the sum of both neighbours, by distance
	push [depth]int64 // weight of the random term, by distance
}

const (
	minutesPerDay  = 1440
	minutesPerWeek = 7 * minutesPerDay
	weekStep       = 10
	step           = 5 // minutes between values of noise
	depth          = 8 // bisections of a segment of noise
	stretch        = 1 << depth
	memory         = .9 // correlation of noise between steps
)

func newTables() *tables {
	t := &tables{}
	for i := range t.day {
		t.day[i] = int64(math.Round(one * math.Sin(2*math.Pi*float64(i)/minutesPerDay)))
	}
	for i := range t.week {
		t.week[i] = int64(math.Round(one * math.Sin(2*math.Pi*float64(i*weekStep)/minutesPerWeek)))
	}
	for k := range t.pull {
		rho := math.Pow(memory, float64(int(1)<<k))
		t.pull[k] = int64(math.Round(one * rho / (1 + rho*rho)))
		t.push[k] = int64(math.Round(one * math.Sqrt((1-rho*rho)/(1+rho*rho))))
	}
	return t
}

// noise is a first-order autoregressive process with mean 0 and deviation one, computed at any
// minute without the minutes before. Its values at the ends of segments are independent, which
// 256 steps justify up to one part in 10^11. Between two known values the middle one is normal
// around their mean times twice rho/(1+rho^2), with the variance (1-rho^2)/(1+rho^2), where
// rho is the correlation over half their distance. A segment is filled by bisection, as the
// bridge of a Gaussian Markov process.
func (t *tables) noise(seed, id uint64, minute int64) int64 {
	at := minute / step
	block := uint64(at >> depth)
	pos := int(at & (stretch - 1))
	left, right := normal(hash(seed, id, block, 0)), normal(hash(seed, id, block+1, 0))
	low, high := 0, stretch
	for k := depth - 1; k >= 0; k-- {
		middle := (low + high) / 2
		v := (t.pull[k]*(left+right) + t.push[k]*normal(hash(seed, id, block, uint64(middle)))) >> 16
		if pos < middle {
			high, right = middle, v
		} else {
			low, left = middle, v
		}
	}
	part := minute % step
	return (left*(step-part) + right*part) / step
}
