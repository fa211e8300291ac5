package stat

import "math"

// HypergeometricTail returns the probability that a sample of the given size, drawn without
// replacement from a population with the given number of marked members, has at least hits of
// them.
func HypergeometricTail(hits, sample, marked, population int) float64 {
	if hits <= max(0, sample+marked-population) {
		return 1
	}
	sum := 0.
	all := logChoose(population, sample)
	for k := hits; k <= min(sample, marked); k++ {
		sum += math.Exp(logChoose(marked, k) + logChoose(population-marked, sample-k) - all)
	}
	return min(1, sum)
}

// logChoose is the logarithm of the binomial coefficient n over k.
func logChoose(n, k int) float64 {
	lg := func(v int) float64 { l, _ := math.Lgamma(float64(v) + 1); return l }
	return lg(n) - lg(k) - lg(n-k)
}
