// Package storage parses results of storage benchmarks.
package storage

import "plimsoll/internal/measure"

// metrics are those of every storage benchmark, and of the CPU beside it.
func metrics() []measure.Metric {
	return append(measure.OperationMetrics("iops", "read", "write"),
		measure.Metric{Name: "host.cpu", Unit: "1", Doc: "share of the CPUs in use, as the tool reports it", Better: measure.LowerIsBetter})
}
