package stat

import (
	"cmp"
	"math"
	"slices"
)

// exactRanks is the largest number of differences for which the exact distribution is
// computed.
const exactRanks = 60

// SignedRank returns the two-sided p value of Wilcoxon's signed-rank test that d is symmetric
// about 0. Zeros are dropped and ties share their ranks. It is exact up to 60 differences, and
// the normal approximation without continuity correction beyond. It is 1 without differences,
// and with NaN. The smallest possible value is 2/2^n.
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
	probabilities := make([]float64, total+1) // probability of each sum of positive ranks
	probabilities[0] = 1
	reach := 0
	for _, r := range ranks {
		reach += r
		for sum := reach; sum >= 0; sum-- {
			probabilities[sum] /= 2
			if sum >= r {
				probabilities[sum] += probabilities[sum-r] / 2
			}
		}
	}
	var tail float64
	for _, w := range probabilities[far:] {
		tail += w
	}
	return math.Min(1, 2*tail)
}

// signedRanks returns twice the rank of each size that is not 0, an integer also for ties, and
// the sum of those of positive differences.
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
