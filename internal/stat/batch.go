package stat

// BatchMeans cuts x, samples of one trial in order of time, into n stretches of
// equal length (to within one sample) and returns the mean of each. Long enough
// batches are nearly independent where samples are not. Nil if there are fewer
// samples than batches.
//
// Source: Conway (1963); Law & Kelton, Simulation Modeling and Analysis.
func BatchMeans(x []float64, n int) []float64 {
	if n < 1 || len(x) < n {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i], _ = moments(x[i*len(x)/n : (i+1)*len(x)/n])
	}
	return out
}

// Autocorrelation1 returns the correlation of each sample with the next, between
// -1 and 1. It is 0 for fewer than three samples and for a constant. Batches are
// wide enough when that of their means is below about 0.1.
//
// Source: Box & Jenkins, Time Series Analysis, the r1 of the sample
// autocorrelation function.
func Autocorrelation1(x []float64) float64 {
	mean, squares := moments(x)
	if len(x) < 3 || !(squares > 0) {
		return 0
	}
	var sum float64
	for i := 1; i < len(x); i++ {
		sum += (x[i] - mean) * (x[i-1] - mean)
	}
	return sum / squares
}
