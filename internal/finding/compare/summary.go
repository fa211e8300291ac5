package compare

import (
	"math"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/stat"
)

// Summaries summarises each metric of each arm. Each trial has one value, so the interval is
// for future trials, not requests.
func Summaries(t *table.Table) []finding.Summary {
	var all []finding.Summary
	for i := range t.Columns {
		col := &t.Columns[i]
		for arm := range t.Arms {
			values, blocks, trials := t.Sample(col, arm)
			if len(values) == 0 {
				continue
			}
			s := finding.Summary{Metric: col.Metric, Arm: arm, Trials: len(values)}
			s.Mean, s.Low, s.High = center(values, col.Positive)
			if slices.Contains(t.Study.Headline, col.Metric.Name) {
				s.Values, s.Blocks, s.Order = values, blocks, trials
				s.Stolen, s.Wanted = t.StolenIn(col, arm)
			}
			all = append(all, s)
		}
	}
	return all
}

// center is the mean of the values with its interval: geometric if all values of the metric
// are positive, consistent with the ratios.
func center(values []float64, positive bool) (mean, low, high float64) {
	if positive {
		mean, low, high = stat.LogMeanInterval(values, finding.SummaryLevel)
	} else {
		mean, low, high = stat.MeanInterval(values, finding.SummaryLevel)
	}
	if len(values) < 2 || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return mean, mean, mean
	}
	return mean, low, high
}
