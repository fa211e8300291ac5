package service

import (
	"slices"

	"plimsoll/internal/measure"
)

// Ratio is a metric derived from others over the load: one of them per the sum of others. A hit ratio is hits per hits and misses, a mean
// latency is time per operation.
type Ratio struct {
	measure.Metric
	Of  string   // name of a metric
	Per []string // names of metrics
}

// Recorded are all metrics of the service in a record.
func (k Kind) Recorded() []measure.Metric {
	all := slices.Clone(k.Metrics)
	for _, r := range slices.Concat(k.Ratios, k.Drained) {
		all = append(all, r.Metric)
	}
	return append(all, k.Derived...)
}

// Divide adds ratios to the counters that they are made of. One that lacks a metric or has a sum of 0 is left out.
func Divide(ratios []Ratio, counters map[string]float64) {
	for _, r := range ratios {
		of, known := counters[r.Of]
		sum := 0.0
		for _, name := range r.Per {
			n, ok := counters[name]
			known = known && ok
			sum += n
		}
		if known && sum > 0 {
			counters[r.Name] = of / sum
		}
	}
}
