package stat

import (
	"cmp"
	"math"
	"slices"
)

// exactRanks is the number of differences up to which all patterns of signs are
// counted.
const exactRanks = 60

// SignedRank returns the two-sided p value of Wilcoxon's signed-rank test that d
// is symmetric about 0. It rests on the symmetry alone, which differences of two
// trials with the same noise have, and on no distribution. Zeros are dropped and
// equal sizes share their ranks. It is exact up to 60 differences, the normal
// approximation without correction beyond, and 1 where there is no difference or
// one that is not a number. The smallest value it can take is 2/2^n.
//
// Source: Wilcoxon (1945); ties and zeros as in scipy.stats.wilcoxon with
// zero_method="wilcox".
func SignedRank(d []float64) float64 {
	if !Finite(d) {
		return 1
	}
	ranks, positive := signedRanks(d)
	if len(ranks) == 0 {
		return 1
	}
	total, squares := 0, 0.0
	for _, r := range ranks {
		total += r
		squares += float64(r) * float64(r)
	}
	far := max(positive, total-positive)
	if len(ranks) > exactRanks {
		z := (float64(far) - float64(total)/2) / (math.Sqrt(squares) / 2)
		return math.Min(1, 2*normalTail(z))
	}
	ways := make([]float64, total+1) // shares of the sign patterns, by the sum of the positive ranks
	ways[0] = 1
	reach := 0
	for _, r := range ranks {
		reach += r
		for sum := reach; sum >= 0; sum-- {
			ways[sum] /= 2
			if sum >= r {
				ways[sum] += ways[sum-r] / 2
			}
		}
	}
	var tail float64
	for _, w := range ways[far:] {
		tail += w
	}
	return math.Min(1, 2*tail)
}

// signedRanks returns twice the rank of each size that is not 0, so that shared
// ranks are whole, and the sum of those of positive differences.
func signedRanks(d []float64) (ranks []int, positive int) {
	d = slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return v == 0 })
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	for from := 0; from < len(d); {
		to := from
		for to < len(d) && math.Abs(d[to]) == math.Abs(d[from]) {
			to++
		}
		for i := from; i < to; i++ {
			ranks = append(ranks, from+1+to)
			if d[i] > 0 {
				positive += from + 1 + to
			}
		}
		from = to
	}
	return ranks, positive
}
