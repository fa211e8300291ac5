package measure

import (
	"fmt"
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

// Quantiles are the latency quantiles that every record carries where its data
// can bear them.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"p50", .50}, {"p90", .90}, {"p95", .95}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}}

// OperationMetrics lists the metrics that every workload made of operations
// has: its rate under the given name (such as "iops"), its throughput, latency
// and errors; and the same for each class of operation, with the class name
// and a dot in front ("write.p99").
func OperationMetrics(rate string, classes ...string) []Metric {
	metrics := operationMetrics("", "operations", rate)
	for _, c := range classes {
		metrics = append(metrics, operationMetrics(c+".", c+" operations", rate)...)
	}
	return metrics
}

func operationMetrics(prefix, what, rate string) []Metric {
	metrics := []Metric{
		{prefix + rate, "1/s", what + " completed per second", HigherIsBetter},
		{prefix + "throughput", "B/s", "bytes transferred by " + what + " per second", HigherIsBetter},
		{prefix + "mean", "s", "mean response time of " + what, LowerIsBetter},
		{prefix + "max", "s", "longest response time of " + what, LowerIsBetter},
		{prefix + "errors", "1/s", "failed " + what + " per second", LowerIsBetter},
	}
	for _, q := range Quantiles {
		metrics = append(metrics, Metric{prefix + q.Name, "s", q.Name + " of the response time of " + what, LowerIsBetter})
	}
	return metrics
}

// GeneratorCPU is the metric of the CPUs that the load generator used for each of its threads.
const GeneratorCPU = "generator.cpu"

// GeneratorWaited is the metric that tells a generator at its own limit from one that other
// processes keep from running.
const GeneratorWaited = "generator.waited"

// ClientMetrics lists what a load generator measures of itself. The operation is what it
// makes, such as a transaction.
func ClientMetrics(operation string) []Metric {
	return []Metric{
		{"client.cpu", "1", "CPUs used by the load generator", Neutral},
		{"client.cpu_per_operation", "s", "CPU time of the load generator per " + operation, LowerIsBetter},
		{"client.gap", "s", "longest delay of a load-generator thread", LowerIsBetter},
		{GeneratorCPU, "1", "CPU utilisation of the load-generator threads, without busy-waiting", Neutral},
		{GeneratorWaited, "1", "share of time in which load-generator threads were runnable and waited for a CPU", LowerIsBetter},
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
		{"offered", "1/s", "offered load: operations due per second", Neutral},
		{"late", "1", "share of operations that started late", LowerIsBetter},
		{"abandoned", "1", "share of operations never started", LowerIsBetter},
		{"lag.max", "s", "longest delay from due time to start", LowerIsBetter},
	}
	for _, q := range Quantiles {
		metrics = append(metrics, Metric{"lag." + q.Name, "s", q.Name + " of the delay from due time to start", LowerIsBetter})
	}
	for _, c := range append([]string{""}, classes...) {
		prefix, what := "", "operations"
		if c != "" {
			prefix, what = c+".", c+" operations"
		}
		metrics = append(metrics, Metric{prefix + "service.mean", "s", "mean service time, from the actual start, of " + what, LowerIsBetter})
		for _, q := range Quantiles {
			metrics = append(metrics, Metric{prefix + "service." + q.Name, "s", q.Name + " of the service time, from the actual start, of " + what, LowerIsBetter})
		}
	}
	return metrics
}

// PeakMetric is the metric of a search for a peak.
func PeakMetric() Metric {
	return Metric{"peak", "1/s", "highest rate that met the limits of the search", HigherIsBetter}
}

// GrowthMetric is the metric of a growth.
func GrowthMetric() Metric {
	return Metric{"carried", "1", "number of servers that met the limits of the growth", HigherIsBetter}
}

// HostCPU is what a growth can be limited by besides the metrics of its workload.
func HostCPU() Metric {
	return Metric{"host.cpu", "1", "share of the host's CPUs in use", LowerIsBetter}
}

// MigrationMetrics are those of a migration in the middle of a load.
func MigrationMetrics() []Metric {
	return []Metric{
		{"migration.total", "s", "total migration time, as reported by the hypervisor", LowerIsBetter},
		{"migration.downtime", "s", "downtime of the migration, from the stop at the source to the resumption at the target", LowerIsBetter},
		{"migration.transferred", "B", "bytes transferred from source to target", LowerIsBetter},
	}
}

// QuantileOf returns the quantile of the response time that a metric is, such as
// 0.99 of "read.p99". It answers false for every other metric.
func QuantileOf(name string) (q float64, ok bool) {
	for _, known := range Quantiles {
		class, found := strings.CutSuffix(name, known.Name)
		if found && (class == "" || strings.HasSuffix(class, ".") && !otherTimes(class)) {
			return known.Q, true
		}
	}
	return 0, false
}

// otherTimes reports whether a prefix of a metric is of times that are no response times.
func otherTimes(prefix string) bool {
	return slices.ContainsFunc([]string{"lag.", "service.", "held.", "queue.", "run."}, func(of string) bool { return strings.HasSuffix("."+prefix, "."+of) })
}

// Percent writes a share as a percentage.
func Percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// Mean is the arithmetic mean of values; 0 of none.
func Mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / max(1, float64(len(values)))
}
