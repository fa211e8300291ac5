package table

import "strings"

// Busiest is the suffix of a metric of the share of a counter on the busiest CPU.
const Busiest = ".busiest_share"

// SpreadOf returns the counter that a metric of how evenly the CPUs share it is about.
func SpreadOf(metric string) (counter string, ok bool) {
	for _, suffix := range []string{Busiest, ".gini", ".cpus90"} {
		if counter, ok := strings.CutSuffix(metric, suffix); ok {
			return counter, true
		}
	}
	return "", false
}
