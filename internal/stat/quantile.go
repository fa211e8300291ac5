package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Quantile returns the q-th quantile of a sorted sample, between the two nearest
// values where it falls between them. q is a share; 0 is the smallest and 1 the
// largest value. NaN for an empty sample or q outside 0..1.
//
// Source: Hyndman & Fan (1996), type 7.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) || at == float64(i) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// QuantileInterval returns the two values of a sorted sample between which the
// q-th quantile lies with at least the given confidence, each side missing it
// with at most half of the rest. ok is false when the sample is too small for
// such a pair: for the 99th percentile at 95 % that is below 368 values.
//
// It assumes independent values, such as the times of single operations done one
// after another. Requests of one trial are not independent, and for them the
// interval is far too narrow: take the quantile of each trial, and PairedT of
// their logarithms.
//
// Source: Thompson (1936); David & Nagaraja, Order Statistics, section 7.1.
func QuantileInterval(sorted []float64, q, level float64) (low, high float64, ok bool) {
	n := len(sorted)
	if n == 0 || !(q > 0 && q < 1) || !(level > 0 && level < 1) {
		return math.NaN(), math.NaN(), false
	}
	side := (1 - level) / 2
	// Values sorted[l] and sorted[u] miss the quantile below and above with
	// probability P(K <= l) and P(K > u), K binomial (n, q).
	l := firstAbove(n, func(k int) bool { return binomialCDF(k, n, q) > side }) - 1
	u := firstAbove(n, func(k int) bool { return 1-binomialCDF(k, n, q) <= side })
	if l < 0 || u >= n {
		return math.NaN(), math.NaN(), false
	}
	return sorted[l], sorted[u], true
}

// firstAbove returns the smallest k in 0..n for which the monotone condition holds.
func firstAbove(n int, holds func(int) bool) int {
	low, high := 0, n
	for low < high {
		if k := (low + high) / 2; holds(k) {
			high = k
		} else {
			low = k + 1
		}
	}
	return low
}

// HarrellDavis returns the q-th quantile of a small sample of independent values
// in any order, as a mean of all order statistics with beta weights: smoother than
// a single one, hence better for 50 to 2,000 operations. NaN for an empty sample
// or q outside 0..1.
//
// Source: Harrell & Davis (1982), A new distribution-free quantile estimator.
func HarrellDavis(x []float64, q float64) float64 {
	n := len(x)
	if n == 0 || !(q >= 0 && q <= 1) {
		return math.NaN()
	}
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	if q == 0 || q == 1 || n == 1 {
		return Quantile(sorted, q)
	}
	a, b := float64(n+1)*q, float64(n+1)*(1-q)
	var sum, below float64
	for i, v := range sorted {
		upTo := mathext.RegIncBeta(a, b, float64(i+1)/float64(n))
		sum += (upTo - below) * v
		below = upTo
	}
	return sum
}
