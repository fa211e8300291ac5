package counter

import (
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// The kinds of objects that have counters.
const (
	ofVM   = "VirtualMachine"
	ofHost = "HostSystem"
)

// nouns are the names of the kinds.
var nouns = map[string]string{ofVM: "VM", ofHost: "host"}

// counter is a counter of the vCenter, and the metric derived from it.
type counter struct {
	metric measure.Metric
	kind   string // of its objects
	name   string // GROUP.COUNTER.ROLLUP
	unit   string // the vCenter's unit
	worst  bool   // the maximum of all instances and objects, not the sum
}

// conversion is the conversion of a unit of the vCenter to one of ours.
type conversion struct {
	unit   string
	factor float64
	events bool // per sample, not per second
}

var conversions = map[string]conversion{
	"megaHertz":          {unit: "1/s", factor: 1e6},
	"kiloBytes":          {unit: "B", factor: 1 << 10},
	"kiloBytesPerSecond": {unit: "B/s", factor: 1 << 10},
	"millisecond":        {unit: "s", factor: 1e-3},
}

// waiting converts milliseconds per sample to the number of waiting vCPUs.
var waiting = conversion{unit: "1", factor: 1e-3, events: true}

// packets converts events per sample to a rate.
var packets = conversion{unit: "1/s", factor: 1, events: true}

// conversion is that of the counter's unit.
func (c *counter) conversion() conversion {
	switch {
	case strings.HasSuffix(c.name, ".summation") && c.unit == "number":
		return packets
	case strings.HasSuffix(c.name, ".summation"):
		return waiting
	}
	return conversions[c.unit]
}

const (
	mhz, kilobytes, kilobytesPerSecond, milliseconds, number = "megaHertz", "kiloBytes", "kiloBytesPerSecond", "millisecond", "number"
)

// both are the counters of VMs and of hosts.
var both = []counter{
	{name: "cpu.usagemhz.average", unit: mhz, metric: measure.Metric{Name: "cpu.usage", Doc: "CPU cycles used"}},
	{name: "cpu.demand.average", unit: mhz, metric: measure.Metric{Name: "cpu.demand", Doc: "CPU cycles that would be used without contention"}},
	{name: "cpu.ready.summation", unit: milliseconds, metric: measure.Metric{Name: "cpu.ready", Doc: "vCPUs ready to run and waiting for a CPU (ready time)"}},
	{name: "cpu.costop.summation", unit: milliseconds, metric: measure.Metric{Name: "cpu.costop", Doc: "vCPUs stopped until their siblings have caught up (co-stop)"}},
	{name: "mem.active.average", unit: kilobytes, metric: measure.Metric{Name: "memory.active", Doc: "memory touched recently, an estimate"}},
	{name: "mem.consumed.average", unit: kilobytes, metric: measure.Metric{Name: "memory.consumed", Doc: "host memory consumed"}},
	{name: "mem.vmmemctl.average", unit: kilobytes, metric: measure.Metric{Name: "memory.balloon", Doc: "memory reclaimed by ballooning"}},
	{name: "mem.swapinRate.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "memory.swap.in", Doc: "swapped in from disk"}},
	{name: "mem.swapoutRate.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "memory.swap.out", Doc: "swapped out to disk"}},
	{name: "net.received.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "network.in", Doc: "bytes received"}},
	{name: "net.transmitted.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "network.out", Doc: "bytes sent"}},
	{name: "net.droppedRx.summation", unit: number, metric: measure.Metric{Name: "network.in.lost", Doc: "received packets dropped"}},
	{name: "net.droppedTx.summation", unit: number, metric: measure.Metric{Name: "network.out.lost", Doc: "transmitted packets dropped"}},
	{name: "disk.maxTotalLatency.latest", unit: milliseconds, worst: true, metric: measure.Metric{Name: "disk.latency", Doc: "latency of the slowest disk"}},
	{name: "datastore.maxTotalLatency.latest", unit: milliseconds, worst: true, metric: measure.Metric{Name: "datastore.latency", Doc: "latency of the slowest datastore"}},
}

var single = []counter{
	{kind: ofVM, name: "mem.swapped.average", unit: kilobytes, metric: measure.Metric{Name: "memory.swapped", Doc: "memory that is swapped out"}},
	{kind: ofHost, name: "mem.swapused.average", unit: kilobytes, metric: measure.Metric{Name: "memory.swapped", Doc: "swap space used"}},
	{kind: ofVM, name: "virtualDisk.read.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "disk.read", Doc: "bytes read from virtual disks"}},
	{kind: ofVM, name: "virtualDisk.write.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "disk.write", Doc: "bytes written to virtual disks"}},
	{kind: ofHost, name: "disk.read.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "disk.read", Doc: "bytes read from disks"}},
	{kind: ofHost, name: "disk.write.average", unit: kilobytesPerSecond, metric: measure.Metric{Name: "disk.write", Doc: "bytes written to disks"}},
}

// counters are those of one kind of objects.
func counters(kind string) (all []counter) {
	for _, c := range slices.Concat(both, single) {
		if c.kind == "" || c.kind == kind {
			c.kind = kind
			c.metric = of(kind, c.metric, c.conversion().unit, c.worst)
			all = append(all, c)
		}
	}
	return all
}

// of is a metric of all the chosen objects of a kind.
func of(kind string, m measure.Metric, unit string, worst bool) measure.Metric {
	noun := nouns[kind]
	m.Name, m.Unit = prefix+strings.ToLower(noun)+"."+m.Name, unit
	if worst {
		m.Doc += " of the worst of the chosen " + noun + "s"
	} else {
		m.Doc += ", all chosen " + noun + "s together"
	}
	return m
}

const prefix = "vsphere."

// metrics are all metrics of the monitor.
func metrics() []measure.Metric {
	all := []measure.Metric{
		{Name: prefix + "clock.offset", Unit: "s", Doc: "the vCenter's clock minus that of this host"},
		{Name: prefix + "clock.error", Unit: "s", Doc: "error bound of that: half of the fastest round trip"},
	}
	for _, kind := range []string{ofVM, ofHost} {
		noun := nouns[kind]
		all = append(all, measure.Metric{Name: counted(kind), Unit: "1", Doc: noun + "s whose counters were read"},
			measure.Metric{Name: sampled(kind), Unit: "1", Doc: "whole samples in the window, of the " + noun + " with the fewest"})
		for _, c := range counters(kind) {
			all = append(all, c.metric)
		}
		for _, q := range quick[kind] {
			all = append(all, q.metric(kind))
		}
	}
	return all
}

func counted(kind string) string { return prefix + strings.ToLower(nouns[kind]) + "s" }
func sampled(kind string) string { return prefix + strings.ToLower(nouns[kind]) + ".samples" }
