package scenario

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
)

// Trace is the demand of VMs over time, and when they come and go: one that was
// generated, or one that was taken somewhere.
type Trace interface {
	VMs() int
	VM(i int) cluster.VM
	// Life is from which minute on a VM is there, and from which on no more.
	Life(i int) (from, to int64)
	At(i int, minute int64) generate.Sample
}

// FromTrace is what happens to a cluster, whose VMs are the first of a trace, in some
// minutes from one on. It takes the VMs into the cluster that arrive in that time.
func FromTrace(c *cluster.Cluster, t Trace, from, minutes int64) *Scenario {
	own := *c
	own.VMs = append([]cluster.VM(nil), c.VMs...)
	s := &Scenario{Name: c.Name, Cluster: &own, Length: minutes * 60}
	d := &traced{trace: t, from: from}
	for i := range t.VMs() {
		begin, end := t.Life(i)
		if i >= len(c.VMs) && (begin >= from+minutes || end <= from) {
			continue
		}
		v := cluster.VMID(i)
		if i >= len(c.VMs) {
			v = cluster.VMID(len(own.VMs))
			vm := t.VM(i)
			vm.Host, vm.Waiting = cluster.Nowhere, false
			own.VMs = append(own.VMs, vm)
			s.Events = append(s.Events, Event{At: max(0, begin-from) * 60, Kind: ArriveEvent, VMs: []cluster.VMID{v}})
		}
		d.of = append(d.of, i)
		if end < from+minutes {
			s.Events = append(s.Events, Event{At: max(0, end-from) * 60, Kind: DepartEvent, VMs: []cluster.VMID{v}})
		}
	}
	sortEvents(s.Events)
	s.Demand = d
	return s
}

// traced is the demand of a trace.
type traced struct {
	trace Trace
	from  int64
	of    []int // place in the trace, by VM
}

func (d *traced) At(v cluster.VMID, second int64) Sample {
	s := d.trace.At(d.of[v], d.from+second/60)
	return Sample{CPU: s.CPU, Active: s.Active, Dirty: s.Dirty}
}
