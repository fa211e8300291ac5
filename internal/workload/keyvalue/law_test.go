package keyvalue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"plimsoll/internal/load/loadtest"
	"testing"
)

// chiSquare compares counts with the shares that they should have. It answers the
// statistic, and the value that it exceeds once in a thousand times (Wilson and
// Hilferty 1931). What is expected fewer than ten times is put together.
func chiSquare(counts []int64, shares []float64, n int64) (statistic, limit float64) {
	cells, seen, want := 0, 0., 0.
	add := func() {
		statistic += (seen - want) * (seen - want) / want
		seen, want = 0, 0
		cells++
	}
	for i, c := range counts {
		seen += float64(c)
		want += shares[i] * float64(n)
		if want >= 10 {
			add()
		}
	}
	if want > 0 {
		add()
	}
	free := float64(cells - 1)
	v := 2 / (9 * free)
	return statistic, free * math.Pow(1-v+3.0902*math.Sqrt(v), 3)
}

// exact are the shares of the ranks of Zipf's law.
func exact(keys int, skew float64) []float64 {
	shares, sum := make([]float64, keys), 0.
	for i := range shares {
		shares[i] = math.Pow(float64(i+1), -skew)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

func TestZipfIsExact(t *testing.T) {
	const n = 400_000
	for _, keys := range loadtest.First(4, []int{1, 3, 1000, 100_000, 2, 10}) {
		for _, skew := range loadtest.First(5, []float64{0, .99, 1, 1 + 1e-12, 2, .2, .5, 1.01, 1.5, 5}) {
			t.Run(fmt.Sprintf("%d keys, skew %g", keys, skew), func(t *testing.T) {
				z := newZipf(int64(keys), skew, 1)
				source := rand.NewPCG(7, uint64(keys))
				counts := make([]int64, keys)
				draws := int64(n)
				if keys == 1 {
					draws = 1000 // anything but the first is out of range
				}
				for range draws {
					counts[z.rank(source)-1]++
				}
				if keys == 1 {
					return
				}
				if got, limit := chiSquare(counts, exact(keys, skew), n); got > limit {
					t.Errorf("chi square is %.1f, above %.1f", got, limit)
				}
			})
		}
	}
}

// The test above must be able to fail: a law that is a little off is found out.
func TestTheTestOfLawsFindsAnotherSkew(t *testing.T) {
	z := newZipf(1000, 1.01, 1)
	source := rand.NewPCG(7, 1)
	counts := make([]int64, 1000)
	for range 400_000 {
		counts[z.rank(source)-1]++
	}
	if got, limit := chiSquare(counts, exact(1000, .99), 400_000); got < limit {
		t.Errorf("a skew of 1.01 passes for 0.99: chi square %.1f, limit %.1f", got, limit)
	}
}

func TestUniformIsExact(t *testing.T) {
	for _, keys := range []int{1, 3, 1000} {
		const n = 300_000
		source := rand.NewPCG(1, uint64(keys))
		counts, u := make([]int64, keys), uniform{uint64(keys)}
		for range n {
			counts[u.draw(source)]++
		}
		if keys == 1 {
			continue
		}
		if got, limit := chiSquare(counts, exact(keys, 0), n); got > limit {
			t.Errorf("%d keys: chi square is %.1f, above %.1f", keys, got, limit)
		}
	}
}

// A draw whose product falls into the part that must be rejected is drawn again.
func TestUniformOfHugeCounts(t *testing.T) {
	const n = 1 << 63 * 3 / 4 // a quarter of all products is rejected
	source, high := rand.NewPCG(3, 4), 0
	for range 10_000 {
		k := below(source, n)
		if k >= n {
			t.Fatalf("%d is not below %d", k, uint64(n))
		}
		if k >= n/2 {
			high++
		}
	}
	if high < 4800 || high > 5200 {
		t.Errorf("%d of 10000 are in the upper half", high)
	}
}

func TestScatterIsAPermutation(t *testing.T) {
	for _, count := range []uint64{1, 2, 3, 7, 8, 9, 1000, 65536, 100_001} {
		for seed := range uint64(3) {
			s := newScatter(count, seed)
			seen := make([]bool, count)
			for n := range count {
				p := s.place(n)
				if p >= count || seen[p] {
					t.Fatalf("%d keys, seed %d: %d goes to %d, which is taken or too large", count, seed, n, p)
				}
				seen[p] = true
			}
		}
	}
}

// The hottest hundred of 100,000 keys lie as far apart as chance has it: their mean
// distance is 1000, and being neighbours is rare.
func TestHotKeysAreNoNeighbours(t *testing.T) {
	for seed := range uint64(20) {
		s := newScatter(100_000, seed)
		var hot [100]uint64
		near, apart := 0, 0.
		for n := range hot {
			hot[n] = s.place(uint64(n))
			for _, other := range hot[:n] {
				d := math.Abs(float64(hot[n]) - float64(other))
				apart += d / (100 * 99 / 2)
				if d < 10 {
					near++
				}
			}
		}
		if near > 10 { // one is expected of 4950 pairs
			t.Errorf("seed %d: %d pairs of hot keys are neighbours", seed, near)
		}
		if apart < 28_000 || apart > 39_000 { // a third of the range
			t.Errorf("seed %d: hot keys are %.0f apart", seed, apart)
		}
	}
	one, two := newScatter(1000, 1), newScatter(1000, 2)
	same := 0
	for n := range uint64(100) {
		if one.place(n) == two.place(n) {
			same++
		}
	}
	if same > 5 {
		t.Errorf("two seeds scatter %d of 100 keys to the same places", same)
	}
}

func TestDrawsAllocateNothing(t *testing.T) {
	source := rand.NewPCG(1, 2)
	for _, l := range []law{uniform{1000}, newZipf(1000, .99, 1)} {
		if n := testing.AllocsPerRun(1000, func() { l.draw(source) }); n != 0 {
			t.Errorf("%T allocates %g times a draw", l, n)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, l := range []law{uniform{1_000_000}, newZipf(1_000_000, .99, 1)} {
		b.Run(fmt.Sprintf("%T", l), func(b *testing.B) {
			source := rand.NewPCG(1, 2)
			for b.Loop() {
				l.draw(source)
			}
		})
	}
}
