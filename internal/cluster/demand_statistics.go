package cluster

import "math"

// DemandStatistics sums up a series of demand samples in constant space.
type DemandStatistics struct {
	Count  int64   // samples
	Mean   float64 // of all samples
	M2     float64 // sum of squared deviations from the mean (Welford 1962)
	Max    float64
	Recent float64 // exponentially weighted mean
	Spread float64 // mean absolute distance from Recent, with the same weights
}

// recent is the weight of a new sample in the recent mean: the last forty samples make up most
// of it.
const recent = 1. / 20

// Add adds a sample, which is at least 0.
func (c *DemandStatistics) Add(x float64) {
	c.Count++
	d := x - c.Mean
	c.Mean += d / float64(c.Count)
	c.M2 += d * (x - c.Mean)
	c.Max = math.Max(c.Max, x)
	if c.Count == 1 {
		c.Recent = x
		return
	}
	c.Spread += recent * (math.Abs(x-c.Recent) - c.Spread)
	c.Recent += recent * (x - c.Recent)
}

// Steady is a course of a single constant value.
func Steady(x float64) DemandStatistics {
	return DemandStatistics{Count: 1, Mean: x, Max: x, Recent: x}
}

// Deviation is the standard deviation of the samples; 0 for fewer than two.
func (c *DemandStatistics) Deviation() float64 {
	if c.Count < 2 {
		return 0
	}
	return math.Sqrt(c.M2 / float64(c.Count-1))
}
