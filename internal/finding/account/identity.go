package account

import (
	"math"

	"plimsoll/internal/finding/table"
)

const (
	saturated  = 0.80 // share of the CPUs in use from which they are taken as the limit of a closed loop
	exact      = 1e-3 // residual of an equation between values of the same records; two trials of a block are averaged
	byLittle   = 0.05 // residual of Little's law
	closeParts = 0.02 // share by which a part may exceed its whole
)

// identities are the equations, in the order of their display.
func identities() []identity {
	return []identity{closedLoop, saturatedThroughput, cpuParts, cpuGroups, cycles, writeAmplification, deviceTime}
}

func rate(t *table.Table) string { return t.Rate }

func named(name string) func(*table.Table) string {
	return func(*table.Table) string { return name }
}

// closedLoop is Little's law of a closed loop: X = N/(R+Z). Source: Little (1961).
var closedLoop = identity{
	name: "closed_loop", whole: rate, tolerance: byLittle,
	applies: func(t *table.Table, arm int) bool { return !t.Paced(arm) && !t.Paced(0) },
	factors: func(c cell) ([]factor, bool) {
		d := c.t.Demands[c.arm]
		mean, ok := c.get("mean")
		if !ok || d.Concurrency <= 0 {
			return nil, false
		}
		think := d.Think.Seconds()
		flight := factor{name: "operations in flight", value: float64(d.Concurrency)}
		time := factor{name: "response time", value: mean + think, inverse: true, counters: []string{"mean"}}
		if think > 0 {
			time.parts = []part{{"response time", mean, time.counters}, {"think time", think, nil}}
		}
		return []factor{flight, time}, true
	},
}

// saturatedThroughput is throughput = CPU available x share used / CPU per operation, of a
// load that is limited by the CPUs. With counters of processes, the CPUs available are those
// that other programs leave, and the use is that of the load and its service.
var saturatedThroughput = identity{
	name: "saturated_throughput", whole: rate, tolerance: exact,
	applies: func(t *table.Table, arm int) bool {
		return !t.Clocked && !t.Paced(arm) && !t.Paced(0) && busyShare(t, arm) >= saturated && busyShare(t, 0) >= saturated
	},
	factors: func(c cell) ([]factor, bool) {
		v, ok := c.all("cpu.busy", "cpu.count", c.t.Rate)
		if !ok || v[2] <= 0 {
			return nil, false
		}
		used, available := v[0], v[1]
		if steal, ok := c.get("cpu.steal"); ok {
			available -= steal
		}
		name, counters := "CPU available", []string{"cpu.count", "cpu.steal"}
		parts, own := ownTimes(c)
		if others, ok := c.get(othersCPU); ok && own > 0 {
			name, counters = "CPU left by other programs", append(counters, othersCPU)
			available, used = available-others, own
		} else {
			parts, _ = cpuTimes(c)
		}
		return []factor{
			{name: name, value: available, counters: counters},
			{name: "share of it used", value: used / available, counters: []string{"cpu.busy", "cpu.idle", "cpu.iowait"}},
			{name: "CPU per operation", value: used / v[2], inverse: true, parts: parts},
		}, true
	},
}

// Counters of the CPU time of groups of processes.
const (
	serviceCPU   = "processes.service.cpu"
	generatorCPU = "processes.generator.cpu"
	othersCPU    = "processes.others.cpu"
)

// ownTimes are the CPU times per operation of the service and the load generator, and the CPUs
// that they use together.
func ownTimes(c cell) (parts []part, own float64) {
	operations, ok := c.get(c.t.Rate)
	if !ok || operations <= 0 {
		return nil, 0
	}
	for _, group := range []struct{ name, counter string }{{"service", serviceCPU}, {"load generator", generatorCPU}} {
		if x, ok := c.get(group.counter); ok {
			own += x
			parts = append(parts, part{"CPU of the " + group.name + " per operation", x / operations, []string{group.counter, group.counter + "/op"}})
		}
	}
	return parts, own
}

func busyShare(t *table.Table, arm int) float64 {
	busy, ok := t.Mean(arm, "cpu.busy")
	count, known := t.Mean(arm, "cpu.count")
	steal, _ := t.Mean(arm, "cpu.steal")
	if !ok || !known || count <= steal {
		return math.NaN()
	}
	return busy / (count - steal)
}

// cpuTimes are the kinds of CPU time per operation.
func cpuTimes(c cell) ([]part, bool) {
	v, ok := c.all("cpu.user", "cpu.system", "cpu.irq", "cpu.softirq", c.t.Rate)
	if !ok || v[4] <= 0 {
		return nil, false
	}
	per := func(name string, value float64, counters ...string) part {
		for i := range counters {
			counters[i] += "/op"
		}
		return part{name, value / v[4], counters}
	}
	return []part{
		per("user CPU per operation", v[0], "cpu.user"),
		per("system CPU per operation", v[1], "cpu.system"),
		per("interrupt CPU per operation", v[2]+v[3], "cpu.irq", "cpu.softirq"),
	}, true
}

// cpuParts is CPU per operation = user + system + interrupts.
var cpuParts = identity{
	name: "cpu_per_operation", whole: named("cpu.busy/op"), tolerance: exact,
	factors: func(c cell) ([]factor, bool) {
		parts, ok := cpuTimes(c)
		return sum("CPU per operation", parts), ok
	},
}

func sum(name string, parts []part) []factor {
	all := factor{name: name, parts: parts}
	for _, p := range parts {
		all.value += p.value
	}
	return []factor{all}
}

// cpuGroups is CPU time per operation = that of the service + of the load generator + of all
// other programs + of no program, such as interrupts.
var cpuGroups = identity{
	name: "cpu_by_process", whole: named("cpu.busy/op"), tolerance: exact,
	factors: func(c cell) ([]factor, bool) {
		v, ok := c.all("cpu.busy", c.t.Rate)
		if !ok || v[1] <= 0 {
			return nil, false
		}
		parts, own := ownTimes(c)
		rest := v[0] - own
		if x, ok := c.get(othersCPU); ok {
			rest -= x
			parts = append(parts, part{"CPU of other programs per operation", x / v[1], []string{othersCPU, othersCPU + "/op"}})
		}
		if len(parts) == 0 {
			return nil, false
		}
		parts = append(parts, part{"CPU of no program per operation", rest / v[1], nil})
		return sum("CPU per operation", parts), true
	},
}

// cycles is cycles per operation = instructions per operation x cycles per instruction.
var cycles = identity{
	name: "cycles_per_operation", whole: named("cpu.cycles/op"), tolerance: exact,
	factors: func(c cell) ([]factor, bool) {
		v, ok := c.all("cpu.cycles", "cpu.instructions", c.t.Rate)
		if !ok || v[1] <= 0 || v[2] <= 0 {
			return nil, false
		}
		return []factor{
			{name: "path length", value: v[1] / v[2], counters: []string{"cpu.instructions", "cpu.instructions/op"}},
			{name: "CPI", value: v[0] / v[1], counters: []string{"cpu.cycles", "cpu.cycles/op"}},
		}, true
	},
}

// writeAmplification is bytes that reach the device = bytes that the load writes x
// amplification, each per operation.
var writeAmplification = identity{
	name: "write_amplification", whole: named("disk.write.bytes/op"), tolerance: exact,
	applies: func(t *table.Table, _ int) bool { return t.Disks },
	factors: func(c cell) ([]factor, bool) {
		v, ok := c.all("disk.write.bytes", "write.throughput", c.t.Rate)
		if !ok || v[1] <= 0 || v[2] <= 0 {
			return nil, false
		}
		return []factor{
			{name: "bytes written by the load", value: v[1] / v[2], counters: []string{"write.throughput"}},
			{name: "write amplification", value: v[0] / v[1], counters: []string{"disk.write.bytes", "disk.write.bytes/op"}},
		}, true
	},
}

// deviceTime is response time = time in the block device + time before and after it. The
// first is the mean queue length by the rate of operations. Source: Little (1961).
var deviceTime = identity{
	name: "response_time", whole: named("mean"), tolerance: exact,
	applies: func(t *table.Table, _ int) bool { return t.Disks },
	factors: func(c cell) ([]factor, bool) {
		v, ok := c.all("mean", "disk.queue", c.t.Rate)
		if !ok || v[2] <= 0 {
			return nil, false
		}
		device := v[1] / v[2]
		if device > v[0]*(1+closeParts) { // writes that go on after their operation
			return nil, false
		}
		return sum("response time", []part{
			{"in the block device", device, []string{"disk.queue", "disk.busy"}},
			{"outside the block device", v[0] - device, nil},
		}), true
	},
}
