package report

import "slices"

// commonMetrics are shown of a study that compares nothing, beside its headlines.
var commonMetrics = []string{"throughput", "mean", "p50", "p95", "p99", "p99.9", "errors"}

// shownMetrics are the headlines and, of one arm alone, the usual latencies.
func (s *sources) shownMetrics() []string {
	names := slices.Clone(s.headlines())
	if s.arms() != 1 {
		return names
	}
	for _, name := range commonMetrics {
		sum := s.sum(name, 0)
		moved := sum != nil && (sum.Mean != 0 || name != "throughput") // a workload that moves no bytes
		if moved && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
