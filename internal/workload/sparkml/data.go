package sparkml

import "math"

// bayes is the share of the classification data that the best of all classifiers predicts correctly.
const bayes = .9

// shift is how far the mean of each feature of the classification data lies from 0, to one side for either label. With
// unit variance and independent features, the best classifier is right with the probability Φ(shift √features) (Hastie,
// Tibshirani and Friedman, The Elements of Statistical Learning, 4.3).
func shift(features int) float64 { return quantile(bayes) / math.Sqrt(float64(features)) }

// quantile is the quantile of the normal distribution.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// cutoff is the mean of the score of n sensors, each uniform from 0 to 1: a label is 1 above it.
func cutoff(n int) float64 { return float64(n) * float64(n+1) / 4 }

// deviation is the standard deviation of the score: the variance of a uniform variable is 1/12.
func deviation(n int) float64 {
	x := float64(n)
	return math.Sqrt(x * (x + 1) * (2*x + 1) / 72)
}

// score is the sum of the values of sensors, each times its number.
func score(values []float64) (sum float64) {
	for i, v := range values {
		sum += float64(i+1) * v
	}
	return sum
}
