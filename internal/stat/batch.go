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
		out[i], _ = Moments(x[i*len(x)/n : (i+1)*len(x)/n])
	}
	return out
}
