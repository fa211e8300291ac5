package counter

import (
	"math"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/load"
)

// sample is the input of a counter: the mean usage in an interval.
type sample struct {
	*load.Usage
	host     *load.Host // of a host or a cluster
	interval time.Duration
	up       time.Duration // at the end of the interval, of a VM
}

// row is a counter, with the kinds of objects that have it.
type row struct {
	group, name string
	rollup      types.PerfSummaryType
	of          kinds
	value       func(s sample) float64
}

// kinds are kinds of objects.
type kinds uint8

const (
	vm kinds = 1 << iota
	host
	pool
	cluster
	all = vm | host | pool | cluster
)

var kindOf = map[string]kinds{"VirtualMachine": vm, "HostSystem": host, "ResourcePool": pool, "VirtualApp": pool, "ClusterComputeResource": cluster}

const (
	average   = types.PerfSummaryTypeAverage
	summation = types.PerfSummaryTypeSummation
	latest    = types.PerfSummaryTypeLatest
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// percent is a fraction in hundredths of a per cent, as in the API.
func percent(part, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return 10_000 * part / of
}

// milliseconds converts CPUs to milliseconds of CPU time in the interval.
func (s sample) milliseconds(cpus float64) float64 { return cpus * float64(s.interval.Milliseconds()) }

// idle is the number of idle CPUs of a VM.
func (s sample) idle() float64 {
	return max(0, s.VCPUs-s.Busy-s.Ready-s.CoStop)
}

// table is the counters.
func table() []row {
	return append(processor(), memory()...)
}

func processor() []row {
	return []row{
		{"cpu", "usage", average, vm, func(s sample) float64 { return percent(s.Busy, s.VCPUs) }},
		{"cpu", "usage", average, host | cluster, func(s sample) float64 { return percent(s.Used, float64(s.host.CPUs*s.host.MHz)) }},
		{"cpu", "usagemhz", average, all, func(s sample) float64 { return s.Used }},
		{"cpu", "demand", average, vm, func(s sample) float64 { return s.Demand }},
		{"cpu", "ready", summation, vm | host, func(s sample) float64 { return s.milliseconds(s.Ready) }},
		{"cpu", "readiness", average, vm | host, func(s sample) float64 { return percent(s.Ready, s.VCPUs) }},
		{"cpu", "costop", summation, vm | host, func(s sample) float64 { return s.milliseconds(s.CoStop) }},
		{"cpu", "maxlimited", summation, vm, func(s sample) float64 { return s.milliseconds(s.Limited) }},
		{"cpu", "latency", average, vm, func(s sample) float64 { return percent(s.Ready+s.CoStop-s.Limited, s.Busy+s.Ready+s.CoStop) }},
		{"cpu", "used", summation, vm, func(s sample) float64 { return s.milliseconds(s.Busy) }},
		{"cpu", "run", summation, vm, func(s sample) float64 { return s.milliseconds(s.Busy) }},
		{"cpu", "idle", summation, vm, func(s sample) float64 { return s.milliseconds(s.idle()) }},
		{"cpu", "wait", summation, vm, func(s sample) float64 { return s.milliseconds(s.idle()) }},
		{"cpu", "utilization", average, host, func(s sample) float64 { return percent(s.Used, float64(s.host.CPUs*s.host.MHz)) }},
		{"cpu", "reservedCapacity", average, host | cluster, func(s sample) float64 { return s.Reserved }},
		{"cpu", "totalCapacity", average, host, func(s sample) float64 { return float64(s.host.CPU) }},
		{"cpu", "totalmhz", average, host | cluster, func(s sample) float64 { return float64(s.host.CPU) }},
		{"clusterServices", "effectivecpu", average, cluster, func(s sample) float64 { return float64(s.host.CPU) }},
		{"clusterServices", "effectivemem", average, cluster, func(s sample) float64 { return float64(s.host.Memory) / mib }},
		{"net", "usage", average, vm | host, func(s sample) float64 { return s.Link / 8 / kib }},
		{"net", "received", average, vm | host, func(s sample) float64 { return s.Link / 16 / kib }},
		{"net", "transmitted", average, vm | host, func(s sample) float64 { return s.Link / 16 / kib }},
		{"sys", "uptime", latest, vm, func(s sample) float64 { return math.Floor(s.up.Seconds()) }},
	}
}

func memory() []row {
	return []row{
		{"mem", "usage", average, vm, func(s sample) float64 { return percent(s.Active, s.Memory) }},
		{"mem", "usage", average, host | cluster, func(s sample) float64 { return percent(s.Consumed+s.Overhead, float64(s.host.AllMemory)) }},
		{"mem", "granted", average, all, func(s sample) float64 { return s.Memory / kib }},
		{"mem", "active", average, all, func(s sample) float64 { return s.Active / kib }},
		{"mem", "consumed", average, vm, func(s sample) float64 { return s.Consumed / kib }},
		{"mem", "consumed", average, host | pool | cluster, func(s sample) float64 { return (s.Consumed + s.Overhead) / kib }},
		{"mem", "overhead", average, all, func(s sample) float64 { return s.Overhead / kib }},
		{"mem", "vmmemctl", average, all, func(s sample) float64 { return s.Ballooned / kib }},
		{"mem", "swapped", average, vm | pool, func(s sample) float64 { return s.Swapped / kib }},
		{"mem", "swapused", average, host | cluster, func(s sample) float64 { return s.Swapped / kib }},
		{"mem", "totalCapacity", average, host, func(s sample) float64 { return float64(s.host.Memory) / mib }},
		{"mem", "totalmb", average, host | cluster, func(s sample) float64 { return float64(s.host.Memory) / mib }},
	}
}
