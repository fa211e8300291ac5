package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

const (
	exactFlips  = 20      // up to here all 2^n patterns are counted
	randomFlips = 100_000 // patterns drawn beyond
)

// SignFlip returns the share of sign patterns under which the mean of d is at
// least as far from 0 as it is. Under random order within blocks each pattern is
// equally likely if the factor does nothing, so this p value rests on the
// randomisation and not on a distribution. It is exact up to 20 blocks; beyond,
// 100,000 patterns are drawn from the seed and the observed one is counted with
// them, so that it is never 0. The smallest value it can take is 2/2^n.
//
// Sums that differ by rounding only count as ties. Without differences, or with
// one that is not a number, it is 1.
//
// Source: Fisher (1935), The Design of Experiments, section 21; the count for
// random patterns is that of Phipson & Smyth (2010).
func SignFlip(d []float64, seed uint64) float64 {
	if len(d) == 0 || !finite(d) {
		return 1
	}
	var sum, reach float64
	sizes := make([]float64, len(d))
	for i, v := range d {
		sum += v
		sizes[i] = math.Abs(v)
		reach += sizes[i]
	}
	if reach == 0 {
		return 1
	}
	bound := math.Abs(sum) - 1e-12*reach
	if bound <= 0 {
		return 1
	}
	if len(d) <= exactFlips {
		slices.SortFunc(sizes, func(a, b float64) int { // largest first: branches settle early
			if a > b {
				return -1
			}
			return 1
		})
		return 2 * float64(flipsAbove(sizes, 0, reach, bound)) / math.Exp2(float64(len(d)))
	}
	return (1 + float64(drawnFlips(sizes, bound, seed))) / (1 + randomFlips)
}

// flipsAbove counts the sign patterns of sizes whose sum, added to sum, is at
// least bound. rest is the sum of sizes.
func flipsAbove(sizes []float64, sum, rest, bound float64) int {
	if sum-rest >= bound {
		return 1 << len(sizes)
	}
	if len(sizes) == 0 || sum+rest < bound {
		return 0
	}
	rest -= sizes[0]
	return flipsAbove(sizes[1:], sum+sizes[0], rest, bound) + flipsAbove(sizes[1:], sum-sizes[0], rest, bound)
}

// drawnFlips counts the patterns, among randomFlips drawn ones, whose sum is at
// least bound away from 0. The sums of each eight values under all 256 patterns
// are tabled, so that eight signs cost one look-up; all patterns pass over one
// table before the next is made, so that it stays in the nearest cache however
// many values there are.
func drawnFlips(sizes []float64, bound float64, seed uint64) int {
	source := rand.NewPCG(seed, 0x5167)
	sums := make([]float64, randomFlips)
	for eight := range slices.Chunk(sizes, 8) {
		table := signedSums(eight)
		var bits uint64
		for i := range sums {
			if i%8 == 0 {
				bits = source.Uint64()
			}
			sums[i] += table[bits&255]
			bits >>= 8
		}
	}
	count := 0
	for _, sum := range sums {
		if math.Abs(sum) >= bound {
			count++
		}
	}
	return count
}

// signedSums tables the sums of up to eight values under all patterns of signs.
func signedSums(values []float64) (table [256]float64) {
	for pattern := range table {
		for i, v := range values {
			if pattern>>i&1 == 1 {
				table[pattern] += v
			} else {
				table[pattern] -= v
			}
		}
	}
	return table
}
