package measure

import (
	"slices"
	"strings"
)

// Direction says which way of a metric is better.
type Direction string

// The directions of a metric.
const (
	HigherIsBetter Direction = "higher"
	LowerIsBetter  Direction = "lower"
	Neutral        Direction = ""
)

// Metric is something that is measured: a name, a unit and which way is better.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"` // base unit: s, B, B/s, 1/s, 1 (a count or a share)
	Doc    string    `json:"doc,omitempty"`
	Better Direction `json:"better,omitempty"`
}

// quantiles are the latency quantiles that every record carries where its data
// can bear them.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", .50}, {"p90", .90}, {"p95", .95}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}}

// OperationMetrics lists the metrics that every workload made of operations
// has: its rate under the given name (such as "iops"), its throughput, latency
// and errors; and the same for each class of operation, with the class name
// and a dot in front ("write.p99").
func OperationMetrics(rate string, classes ...string) []Metric {
	metrics := operationMetrics("", "all operations", rate)
	for _, c := range classes {
		metrics = append(metrics, operationMetrics(c+".", c+" operations", rate)...)
	}
	return metrics
}

func operationMetrics(prefix, what, rate string) []Metric {
	metrics := []Metric{
		{prefix + rate, "1/s", what + " completed per second", HigherIsBetter},
		{prefix + "throughput", "B/s", "bytes moved by " + what + " per second", HigherIsBetter},
		{prefix + "mean", "s", "mean response time of " + what, LowerIsBetter},
		{prefix + "max", "s", "longest response time of " + what, LowerIsBetter},
		{prefix + "errors", "1/s", "failed " + what + " per second", LowerIsBetter},
	}
	for _, q := range quantiles {
		metrics = append(metrics, Metric{prefix + q.name, "s", q.name + " of the response time of " + what, LowerIsBetter})
	}
	return metrics
}

// GeneratorWaited is the metric that tells a generator at its own limit from one that other
// processes keep from running.
const GeneratorWaited = "generator.waited"

// ClientMetrics lists what a load generator measures of itself. The operation is what it
// makes, such as a transaction.
func ClientMetrics(operation string) []Metric {
	return []Metric{
		{"client.cpu", "1", "CPUs that the load generator kept busy", Neutral},
		{"client.cpu_per_operation", "s", "CPU time of the load generator for each " + operation, LowerIsBetter},
		{"client.gap", "s", "longest time for which a thread of the load generator did not look at the clock", LowerIsBetter},
		{"generator.cpu", "1", "CPU time of the load generator that was not spent waiting for the next instant, as a share of its threads'", Neutral},
		{GeneratorWaited, "1", "share of the time that the threads of the load generator were ready to run and had no CPU", LowerIsBetter},
	}
}

// Foremost are metrics with one of them, the headline, before all others.
func Foremost(headline string, all []Metric) []Metric {
	is := func(m Metric) bool { return m.Name == headline }
	first, rest := slices.DeleteFunc(slices.Clone(all), func(m Metric) bool { return !is(m) }), slices.DeleteFunc(slices.Clone(all), is)
	return append(first, rest...)
}

// ScheduleMetrics lists what a load that keeps a schedule measures besides
// OperationMetrics: what became of the operations that it offered, how late they
// started, and their times from the start.
func ScheduleMetrics(classes ...string) []Metric {
	metrics := []Metric{
		{"offered", "1/s", "operations that became due per second", Neutral},
		{"late", "1", "share of the operations that started late", LowerIsBetter},
		{"abandoned", "1", "share of the operations that were never started", LowerIsBetter},
		{"lag.max", "s", "longest time from due to started", LowerIsBetter},
	}
	for _, q := range quantiles {
		metrics = append(metrics, Metric{"lag." + q.name, "s", q.name + " of the time from due to started", LowerIsBetter})
	}
	for _, c := range append([]string{""}, classes...) {
		prefix, what := "", "all operations"
		if c != "" {
			prefix, what = c+".", c+" operations"
		}
		metrics = append(metrics, Metric{prefix + "service.mean", "s", "mean time from the start of " + what, LowerIsBetter})
		for _, q := range quantiles {
			metrics = append(metrics, Metric{prefix + "service." + q.name, "s", q.name + " of the time from the start of " + what, LowerIsBetter})
		}
	}
	return metrics
}

// PeakMetric is the metric of a search for a peak.
func PeakMetric() Metric {
	return Metric{"peak", "1/s", "highest rate at which the limits of the search were kept", HigherIsBetter}
}

// GrowthMetric is the metric of a growth.
func GrowthMetric() Metric {
	return Metric{"carried", "1", "servers with which the limits of the growth were kept", HigherIsBetter}
}

// HostCPU is what a growth can be limited by besides the metrics of its workload.
func HostCPU() Metric {
	return Metric{"host.cpu", "1", "share of the host's CPUs in use", LowerIsBetter}
}

// MigrationMetrics are those of a migration in the middle of a load.
func MigrationMetrics() []Metric {
	return []Metric{
		{"migration.total", "s", "time that the guest's migration took, as the hypervisor reports it", LowerIsBetter},
		{"migration.downtime", "s", "time for which the guest stood still meanwhile, from its stop at the source to its resumption at the target", LowerIsBetter},
		{"migration.transferred", "B", "bytes that were sent from the source to the target", LowerIsBetter},
	}
}

// QuantileOf returns the quantile of the response time that a metric is, such as
// 0.99 of "read.p99". It answers false for every other metric.
func QuantileOf(name string) (q float64, ok bool) {
	for _, known := range quantiles {
		class, found := strings.CutSuffix(name, known.name)
		if found && (class == "" || strings.HasSuffix(class, ".") && class != "lag." && !strings.HasSuffix(class, "service.")) {
			return known.q, true
		}
	}
	return 0, false
}
