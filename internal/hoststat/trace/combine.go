package trace

import (
	"cmp"
	"slices"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/hoststat/network"
)

// Combine is one interval over several successive ones: rates and gauges are means weighted by
// time, states are the last ones. It is nil for none.
func Combine(list []hoststat.Interval) *hoststat.Interval {
	out := &hoststat.Interval{}
	for i := range list {
		out.Seconds += list[i].Seconds
	}
	if out.Seconds <= 0 {
		return nil
	}
	last := &list[len(list)-1]
	out.At, out.Files, out.Missing = last.At, last.Files, last.Missing
	var parts []network.Part
	for i := range list {
		share := list[i].Seconds / out.Seconds
		if add(out, &list[i], share); list[i].Network != nil {
			parts = append(parts, network.Part{State: list[i].Network, Share: share})
		}
	}
	out.Network = network.Combine(parts)
	slices.SortStableFunc(out.Processes, func(a, b hoststat.Process) int { return byUse(a.Busy(), b.Busy(), a.PID, b.PID) })
	for n := range out.Processes {
		slices.SortStableFunc(out.Processes[n].Tasks, func(a, b hoststat.Thread) int { return byUse(a.Busy(), b.Busy(), a.TID, b.TID) })
	}
	return out
}

// add adds an interval with a weight.
func add(i, from *hoststat.Interval, weight float64) {
	totals := func(i *hoststat.Interval) []*float64 {
		return []*float64{&i.Interrupts, &i.Switches, &i.Forks, &i.Running, &i.Blocked}
	}
	mix(totals(i), totals(from), weight)
	i.CPUs = grown(i.CPUs, len(from.CPUs))
	for n := range from.CPUs {
		mix(i.CPUs[n].Counters(), from.CPUs[n].Counters(), weight)
	}
	for name, list := range from.SoftIRQs {
		i.SoftIRQs = assign(i.SoftIRQs, name, mixList(i.SoftIRQs[name], list, weight))
	}
	for name, p := range from.Pressure {
		sum := i.Pressure[name]
		mix(sum.Counters(), p.Counters(), weight)
		i.Pressure = assign(i.Pressure, name, sum)
	}
	if from.Zones != nil {
		i.Zones = from.Zones
	}
	i.VM, i.Net, i.Memory = mixMap(i.VM, from.VM, weight), mixMap(i.Net, from.Net, weight), mixMap(i.Memory, from.Memory, weight)
	for n, node := range from.Nodes {
		i.Nodes = grown(i.Nodes, n+1)
		i.Nodes[n] = hoststat.Node{CPUs: node.CPUs, Stat: mixMap(i.Nodes[n].Stat, node.Stat, weight), Memory: mixMap(i.Nodes[n].Memory, node.Memory, weight)}
	}
	addDevices(i, from, weight)
	for n := range from.Processes {
		p := &from.Processes[n]
		i.Processes = blend(i.Processes, p, func(x *hoststat.Process) bool { return x.PID == p.PID && x.Started == p.Started }, weight)
	}
	for n := range from.Groups {
		g := &from.Groups[n]
		i.Groups = blend(i.Groups, g, func(x *cgroup.Group) bool { return x.Path == g.Path }, weight)
	}
}

// addDevices adds interrupts, disks and network devices.
func addDevices(i, from *hoststat.Interval, weight float64) {
	for n := range from.IRQs {
		irq := &from.IRQs[n]
		at := slices.IndexFunc(i.IRQs, func(x hoststat.IRQ) bool { return x.Name == irq.Name })
		if at < 0 {
			at = len(i.IRQs)
			i.IRQs = append(i.IRQs, hoststat.IRQ{Name: irq.Name, Device: irq.Device})
		}
		i.IRQs[at].PerCPU = mixList(i.IRQs[at].PerCPU, irq.PerCPU, weight)
	}
	for n := range from.Disks {
		d := &from.Disks[n]
		i.Disks = blend(i.Disks, d, func(x *hoststat.Disk) bool { return x.Name == d.Name }, weight)
	}
	for n := range from.Links {
		l := &from.Links[n]
		i.Links = blend(i.Links, l, func(x *hoststat.Link) bool { return x.Name == l.Name }, weight)
	}
}

// counted is a part of an interval with counters.
type counted[T any] interface {
	*T
	Counters() []*float64
}

// blend adds the counters of an element to those of the same element in a list. What is no
// counter is that of the later one.
func blend[T any, P counted[T]](list []T, from *T, same func(*T) bool, weight float64) []T {
	at := slices.IndexFunc(list, func(x T) bool { return same(&x) })
	var before T
	if at < 0 {
		at = len(list)
		list = append(list, before)
	} else {
		before = list[at]
	}
	sum := *from
	into, was, more := P(&sum).Counters(), P(&before).Counters(), P(from).Counters()
	for n := range into {
		*into[n] = *was[n] + weight**more[n]
	}
	if p, ok := any(&sum).(*hoststat.Process); ok {
		inherit(p, any(&before).(*hoststat.Process), weight)
	}
	list[at] = sum
	return list
}

// inherit keeps the details of an earlier interval where this one has none, and adds the threads.
func inherit(p, before *hoststat.Process, weight float64) {
	now := p.Tasks
	p.Tasks = slices.Clone(before.Tasks)
	for n := range now {
		t := &now[n]
		p.Tasks = blend(p.Tasks, t, func(x *hoststat.Thread) bool { return x.TID == t.TID }, weight)
	}
	if !p.Detailed && before.Detailed {
		p.Detailed, p.Parent, p.Command, p.Allowed, p.Group = true, before.Parent, before.Command, before.Allowed, before.Group
	}
}

func mix(into, from []*float64, weight float64) {
	for n := range into {
		*into[n] += weight * *from[n]
	}
}

func mixList(into, from []float64, weight float64) []float64 {
	into = grown(into, len(from))
	for n, x := range from {
		into[n] += weight * x
	}
	return into
}

func mixMap(into, from map[string]float64, weight float64) map[string]float64 {
	if into == nil && from != nil {
		into = make(map[string]float64, len(from))
	}
	for name, x := range from {
		into[name] += weight * x
	}
	return into
}

func assign[T any](m map[string]T, name string, value T) map[string]T {
	if m == nil {
		m = map[string]T{}
	}
	m[name] = value
	return m
}

// grown is a slice with at least n elements.
func grown[T any](s []T, n int) []T {
	if n > len(s) {
		return append(s, make([]T, n-len(s))...)
	}
	return s
}

// byUse orders by falling use, then by number.
func byUse(a, b float64, m, n int) int { return cmp.Or(cmp.Compare(b, a), cmp.Compare(m, n)) }
