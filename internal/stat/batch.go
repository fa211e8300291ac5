package stat

// BatchMeans divides x, the samples of one trial in order of time, into n batches of equal
// length (to within one sample) and returns the mean of each. If batches are long enough,
// their means are nearly independent even where samples are autocorrelated. It returns nil if
// there are fewer samples than batches.
//
// Source: Conway (1963); Law & Kelton, Simulation Modeling and Analysis.
func BatchMeans(x []float64, n int) []float64 {
	if n < 1 || len(x) < n {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i], _ = Moments(x[i*len(x)/n : (i+1)*len(x)/n])
	}
	return out
}
