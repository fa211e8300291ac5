package measure

import (
	"fmt"
	"slices"
	"strings"
)

// Direction is the better direction of a metric.
type Direction string

// The directions of a metric.
const (
	HigherIsBetter Direction = "higher"
	LowerIsBetter  Direction = "lower"
	Neutral        Direction = ""
)

// Metric is a name, a unit and the better direction.
type Metric struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"` // base unit: s, B, B/s, 1/s, 1 (a count or a share)
	Doc    string    `json:"doc,omitempty"`
	Better Direction `json:"better,omitempty"`
}

// Quantiles are the latency quantiles that every record has if its data suffice.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"p50", .50}, {"p90", .90}, {"p95", .95}, {"p99", .99}, {"p99.9", .999}, {"p99.99", .9999}}

// OperationMetrics lists the metrics of every workload that has operations: the rate under the
// given name (such as "iops"), throughput, latency and errors; and the same for each class of
// operation, prefixed with the class name and a dot ("write.p99").
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

// GeneratorCPU is the name of the metric of CPUs used per load generator thread.
const GeneratorCPU = "generator.cpu"

// GeneratorWaited is the name of the metric that distinguishes a saturated generator from one
// that competes with other processes for CPU.
const GeneratorWaited = "generator.waited"

// ClientMetrics lists the metrics of the load generator itself. operation names an operation,
// such as "transaction".
func ClientMetrics(operation string) []Metric {
	return []Metric{
		{"client.cpu", "1", "CPUs used by the load generator", Neutral},
		{"client.cpu_per_operation", "s", "CPU time of the load generator per " + operation, LowerIsBetter},
		{"client.gap", "s", "longest delay of a load-generator thread", LowerIsBetter},
		{GeneratorCPU, "1", "CPU utilisation of the load-generator threads, without busy-waiting", Neutral},
		{GeneratorWaited, "1", "share of time in which load-generator threads were runnable and waited for a CPU", LowerIsBetter},
	}
}

// Foremost returns the metrics with the headline first.
func Foremost(headline string, all []Metric) []Metric {
	is := func(m Metric) bool { return m.Name == headline }
	first, others := slices.DeleteFunc(slices.Clone(all), func(m Metric) bool { return !is(m) }), slices.DeleteFunc(slices.Clone(all), is)
	return append(first, others...)
}

// ScheduleMetrics lists the metrics of an open loop besides OperationMetrics: outcomes of the
// offered operations, lag, and service times.
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
	return append(metrics, ServiceMetrics(classes...)...)
}

// ServiceMetrics lists the metrics of service times, where response times count from the due
// time.
func ServiceMetrics(classes ...string) (metrics []Metric) {
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
	return Metric{"carried", "1", "number of servers, or of units of the load such as sessions, that met the limits of the growth", HigherIsBetter}
}

// TilesMetric is the metric of a growth that adds tiles, and of a study of several.
func TilesMetric() Metric {
	return Metric{"tiles", "1", "number of tiles in which every group met its limits", HigherIsBetter}
}

// Score is the score of the applications of all tiles, Worst that of the tile with the lowest, and Kept the share of the
// groups of all tiles that met their limits.
const Score, Worst, Kept = "score.applications", "worst", "kept"

// KilowattScore is the overall score, or that of the applications without one, divided by the mean power in the window.
const KilowattScore = "score.kilowatt"

// TileMetrics are those of a study of tiles; scored if its groups have references.
func TileMetrics(scored bool) (all []Metric) {
	if scored {
		all = []Metric{
			{Score, "1", "sum over tiles of the geometric mean of the groups' rates, each relative to its reference", HigherIsBetter},
			{KilowattScore, "1/kW", "score divided by the mean power in the window, where a source of energy is known", HigherIsBetter},
			{Worst, "1", "lowest score of a tile", HigherIsBetter},
			{Fairness, "1", "Jain's fairness index of the scores of tiles; 1 is equal scores", HigherIsBetter},
		}
	}
	return append(all, Metric{Kept, "1", "share of the groups of all tiles that met their limits", HigherIsBetter})
}

// OverallScore is the score of applications and operations together, OperationsScore that of operations alone, and
// OperationsWeight its share in the sum.
const OverallScore, OperationsScore, OperationsWeight = "score", "score.operations", "score.operations.weight"

// OverallMetrics are those of a study of tiles with operations that have references.
func OverallMetrics() []Metric {
	return []Metric{
		{OverallScore, "1", "80 % of the score of applications and 20 % of that of operations", HigherIsBetter},
		{OperationsScore, "1", "geometric mean of the operations' numbers per hour, each relative to its reference", HigherIsBetter},
		{OperationsWeight, "1", "share of the operations in the score, which does not grow with the tiles", Neutral},
	}
}

// OperationsMetric is the number of operations of a kind per hour.
func OperationsMetric(kind string) Metric {
	return Metric{"operations." + kind, "1/h", kind + " operations completed per hour", HigherIsBetter}
}

// HostCPU is a metric that can limit a growth besides those of its workload.
func HostCPU() Metric {
	return Metric{"host.cpu", "1", "share of the host's CPUs in use", LowerIsBetter}
}

// CPUPerOperation is the CPU time of the whole host per operation, a headline for any workload.
// It is derived from the counters of the host.
func CPUPerOperation() Metric {
	return Metric{"cpu.busy/op", "s", "busy CPUs per operation", LowerIsBetter}
}

// EnergyCheck is the check of a trial that names the source of its energy.
const EnergyCheck = "energy"

// Metrics of the energy of the host, where a source of it is known.
const (
	Power              = "power"
	Energy             = "energy"
	OperationsPerJoule = "operations_per_joule"
)

// EnergyMetrics are the metrics of the energy of the host. In a study of tiles, whose operations are of several kinds, none is per
// operation.
func EnergyMetrics(tiled bool) []Metric {
	all := []Metric{
		{Power, "W", "mean power in the window, of the source that the certificate names", Neutral},
		{Energy, "J", "energy used in the window, by the same source", Neutral},
	}
	if tiled {
		return all
	}
	return append(all, Metric{OperationsPerJoule, "1/J", "operations completed in the window per joule of that energy", HigherIsBetter})
}

// MigrationMetrics are those of a live migration during a load.
func MigrationMetrics() []Metric {
	return []Metric{
		{"migration.total", "s", "total migration time, as reported by the hypervisor", LowerIsBetter},
		{"migration.downtime", "s", "downtime of the migration, from the stop at the source to the resumption at the target", LowerIsBetter},
		{"migration.transferred", "B", "bytes transferred from source to target", LowerIsBetter},
	}
}

// FaultMetrics are those of a fault of the service during a load.
func FaultMetrics() []Metric {
	return []Metric{
		{"fault.detection", "s", "time until the service noticed the fault", LowerIsBetter},
		{"fault.recovery", "s", "time from the end of the fault, or from marking a lost server out, until redundancy was restored", LowerIsBetter},
		{"fault.drain", "s", "time until a server that is to leave held nothing that is needed", LowerIsBetter},
	}
}

// Metrics of a study with several machines or servers, beside those of its workload.
const (
	// Fairness is Jain's index of the machines' rates: 1 for equal rates, 1/n if one gets
	// everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
	Fairness = "fairness"
	// Least is the lowest rate of a machine.
	Least = "least"
)

// SharingMetrics lists them, for "machine" or "server".
func SharingMetrics(of string) []Metric {
	return []Metric{
		{Fairness, "1", "Jain's fairness index of the " + of + "s' rates; 1 is equal shares", HigherIsBetter},
		{Least, "1/s", "lowest rate of a " + of, HigherIsBetter},
	}
}

// QuantileOf returns the quantile of a response time metric, such as 0.99 of "read.p99". It
// returns false for every other metric.
func QuantileOf(name string) (q float64, ok bool) {
	for _, known := range Quantiles {
		class, found := strings.CutSuffix(name, known.Name)
		if found && (class == "" || strings.HasSuffix(class, ".") && !otherTimes(class)) {
			return known.Q, true
		}
	}
	return 0, false
}

// otherTimes reports whether a prefix is of times other than response times.
func otherTimes(prefix string) bool {
	return slices.ContainsFunc([]string{"lag.", "service.", "held.", "queue.", "run.", "loop."}, func(of string) bool { return strings.HasSuffix("."+prefix, "."+of) })
}

// Percent writes a share as a percentage.
func Percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// Mean is the arithmetic mean of values; 0 if there are none.
func Mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / max(1, float64(len(values)))
}
