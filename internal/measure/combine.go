package measure

import (
	"slices"
	"strings"
)

// All begins the names of the metrics of all groups of a study together.
const All = "all."

// Combine adds up what machines with different loads did over the same window. Rates add up, and response times are those of all operations: quantiles come
// from the merged histograms, the mean weighs each operation alike. Each machine counts over its own intervals inside the window, so that intervals of unequal
// lengths do no harm. Offers and further times are left out.
func Combine(machines []*Summary, rate string) *Summary {
	whole := newSummary()
	for _, m := range machines {
		for class, t := range m.totals {
			whole.total(class).Add(*t)
			whole.Histograms[class].Merge(m.Histograms[class])
			for _, per := range []string{rate, "throughput", "errors"} {
				whole.Values[prefixOf(class)+per] += m.Values[prefixOf(class)+per]
			}
		}
		whole.Seconds = max(whole.Seconds, m.Seconds)
	}
	for class, t := range whole.totals {
		whole.count(prefixOf(class), t)
		whole.latencies(class)
	}
	return whole
}

// CombinedMetrics lists those of the metrics of a workload that Combine derives, under their names for all groups together.
func CombinedMetrics(rate string, all []Metric) (combined []Metric) {
	known := map[string]bool{}
	for _, m := range all {
		known[m.Name] = true
	}
	of := operationMetrics("", "operations", rate)
	for _, m := range all {
		if slices.ContainsFunc(of, func(o Metric) bool {
			class, found := strings.CutSuffix(m.Name, o.Name)
			return found && (class == "" || strings.HasSuffix(class, ".")) && known[class+rate]
		}) {
			m.Name, m.Doc = All+m.Name, m.Doc+", of all groups together"
			combined = append(combined, m)
		}
	}
	return combined
}
