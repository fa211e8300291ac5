package content

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/report"
)

// commonMetrics are shown, beside the headlines, for a study with one arm.
var commonMetrics = []string{"throughput", "mean", "p50", "p95", "p99", "p99.9", "errors"}

// ShownMetrics are the headlines, the times of a fault and, of one arm alone, the usual latencies.
func ShownMetrics(s *report.Sources) []string {
	names := slices.Clone(s.Headlines())
	for _, m := range measure.FaultMetrics() {
		for arm := range s.Arms() {
			if s.Summary(m.Name, arm) != nil && !slices.Contains(names, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	if s.Arms() != 1 {
		return names
	}
	for _, name := range commonMetrics {
		sum := s.Summary(name, 0)
		moved := sum != nil && (sum.Mean != 0 || name != "throughput") // a workload that transfers no bytes
		if moved && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// LevelNumber parses a level such as "16", "4KiB", "70%" or "5000/s".
func LevelNumber(level string) (float64, bool) {
	unit := strings.TrimLeft(level, "0123456789.+-eE")
	v, err := strconv.ParseFloat(strings.TrimSuffix(level, unit), 64)
	factor, known := map[string]float64{
		"": 1, "%": .01, "/s": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"kB": 1e3, "MB": 1e6, "GB": 1e9, "k": 1e3, "s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6,
	}[unit]
	return v * factor, err == nil && known
}
