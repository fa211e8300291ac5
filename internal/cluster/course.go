package cluster

import "math"

// Course sums up how a demand went, in constant size whatever its length.
type Course struct {
	Count  int64   // samples
	Mean   float64 // of all
	M2     float64 // sum of squared deviations from the mean (Welford 1962)
	Max    float64
	Recent float64 // mean in which older samples count ever less
	Spread float64 // mean absolute distance from Recent, weighted alike
}

// recent is the weight of a new sample in the recent mean: the last forty samples make up
// most of it.
const recent = 1. / 20

// Add takes one more sample, of at least 0.
func (c *Course) Add(x float64) {
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

// Steady is a course that always was at one value.
func Steady(x float64) Course { return Course{Count: 1, Mean: x, Max: x, Recent: x} }

// Deviation is the standard deviation of the samples; 0 below two.
func (c *Course) Deviation() float64 {
	if c.Count < 2 {
		return 0
	}
	return math.Sqrt(c.M2 / float64(c.Count-1))
}
