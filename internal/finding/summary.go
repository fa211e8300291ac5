package finding

import (
	"math"
	"slices"

	"plimsoll/internal/stat"
)

// summaryLevel is the confidence level of the intervals of summaries.
const summaryLevel = 0.95

// summarise sums up each metric of each arm. One value a trial is what counts, so
// the interval is about trials to come and not about requests.
func (c *Case) summarise() []Summary {
	v := c.arrange()
	var all []Summary
	for i := range v.columns {
		col := &v.columns[i]
		for arm := range v.arms {
			values, blocks, trials := v.sample(col, arm)
			if len(values) == 0 {
				continue
			}
			s := Summary{Metric: col.metric, Arm: arm, Trials: len(values)}
			s.Mean, s.Low, s.High = center(values, col.positive)
			if slices.Contains(c.Study.Headline, col.metric.Name) {
				s.Values, s.Blocks, s.Order = values, blocks, trials
			}
			all = append(all, s)
		}
	}
	return all
}

// center is the mean of the values with its interval: geometric where all values
// of the metric are above 0, so that it agrees with the ratios.
func center(values []float64, positive bool) (mean, low, high float64) {
	if positive {
		mean, low, high = stat.LogMeanInterval(values, summaryLevel)
	} else {
		mean, low, high = stat.MeanInterval(values, summaryLevel)
	}
	if len(values) < 2 || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return mean, mean, mean
	}
	return mean, low, high
}
