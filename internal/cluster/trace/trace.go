package trace

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
)

// Trace is the demand of VMs over time, with their arrivals and departures.
type Trace struct {
	vms    []vm
	first  int   // number of VMs that exist at the start
	length int64 // seconds
}

type vm struct {
	name     string
	vcpus    int
	memory   int64
	from, to int64    // seconds
	last     int64    // second of the latest row
	samples  []sample // by time
}

// forever is the departure of a VM that never departs.
const forever = math.MaxInt64

// sample is kept small: a month of a thousand VMs has ten million.
type sample struct {
	second, cpu uint32
	active      int64
}

// Read reads a trace, whose name appears in errors. The first VMs are those of second 0, in
// file order, followed by those that arrive later. After an error there is no trace.
func Read(file string, r io.Reader) (*Trace, error) {
	t := &Trace{}
	index := map[string]int{}
	for row, err := range Rows(file, r) {
		if err != nil {
			return nil, err
		}
		if row.Kind == End {
			t.length = row.Second
			continue
		}
		if err := t.take(index, row); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, row.Line, err)
		}
	}
	for i := range t.vms {
		m := &t.vms[i]
		m.samples = slices.Clone(m.samples) // without spare capacity
		if m.last > t.length {
			return nil, fmt.Errorf("%s: the trace ends in second %d, and VM %s has a row in second %d", file, t.length, m.name, m.last)
		}
	}
	slices.SortStableFunc(t.vms, func(a, b vm) int { return cmp.Compare(min(a.from, 1), min(b.from, 1)) })
	for t.first < len(t.vms) && t.vms[t.first].from == 0 {
		t.first++
	}
	return t, nil
}

func (t *Trace) take(index map[string]int, row Row) error {
	i, known := index[row.VM]
	if row.Kind == Arrive {
		if known {
			return fmt.Errorf("VM %s arrives twice; a VM that returns needs another name", row.VM)
		}
		index[row.VM] = len(t.vms)
		t.vms = append(t.vms, vm{name: row.VM, vcpus: row.VCPUs, memory: row.Memory, from: row.Second, to: forever, last: row.Second})
		return nil
	}
	if !known {
		return fmt.Errorf("VM %s has not arrived", row.VM)
	}
	m := &t.vms[i]
	if m.to != forever {
		return fmt.Errorf("VM %s has departed in second %d", row.VM, m.to)
	}
	if row.Second < m.last || row.Kind == Demand && len(m.samples) > 0 && row.Second == m.last {
		return fmt.Errorf("VM %s: second %d follows second %d; rows of a VM must be in order of time, one per second", row.VM, row.Second, m.last)
	}
	m.last = row.Second
	if row.Kind == Depart {
		m.to = row.Second
		return nil
	}
	m.add(sample{uint32(row.Second), uint32(row.CPU), row.Active})
	return nil
}

// add adds a sample, unless it repeats the last.
func (m *vm) add(s sample) {
	if n := len(m.samples); n > 0 && m.samples[n-1].cpu == s.cpu && m.samples[n-1].active == s.active {
		return
	}
	m.samples = append(m.samples, s)
}

// Length is the duration of the trace in seconds.
func (t *Trace) Length() int64 { return t.length }

// Follows reports whether a trace belongs to a cluster: it begins with the same VMs in the
// same order. The error names the first that differs.
func (t *Trace) Follows(c *cluster.Cluster) error {
	if t.first != len(c.VMs) {
		return fmt.Errorf("the trace begins with %d VMs, but the cluster has %d: they are from different imports", t.first, len(c.VMs))
	}
	for i := range c.VMs {
		m, v := &t.vms[i], &c.VMs[i]
		if m.name != v.Name || m.vcpus != v.VCPUs || m.memory != v.Memory {
			return fmt.Errorf("VM %d is %s with %d vCPUs and %d bytes in the trace, and %s with %d and %d in the cluster: they are from different imports",
				i+1, m.name, m.vcpus, m.memory, v.Name, v.VCPUs, v.Memory)
		}
	}
	return nil
}

// VM is a VM with the defaults of a cluster file: no host, no demand, normal shares, no
// reservation.
func VM(name string, vcpus int, memory int64) cluster.VM {
	cpu, mem := cluster.VMShares(cluster.ShareNormal, vcpus, memory)
	return cluster.VM{
		Name: name, Host: cluster.Nowhere, VCPUs: vcpus, Memory: memory,
		CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: mem},
	}
}

// life is the first minute of a VM and the one after its last. A VM that exists at no full
// minute is given one.
func (m *vm) life() (from, to int64) {
	from = (m.from + 59) / 60
	if m.to == forever {
		return from, forever
	}
	return from, max(from+1, (m.to+59)/60)
}

// at is the demand at a minute; 0 if the VM does not exist.
func (m *vm) at(minute int64) scenario.Sample {
	if from, to := m.life(); minute < from || minute >= to {
		return scenario.Sample{}
	}
	n, found := slices.BinarySearchFunc(m.samples, minute*60, func(s sample, second int64) int { return cmp.Compare(int64(s.second), second) })
	if !found {
		n--
	}
	if n < 0 {
		return scenario.Sample{}
	}
	return scenario.Sample{CPU: int64(m.samples[n].cpu), Active: m.samples[n].active}
}

// Scenario is the demand of the first minutes of a trace for its cluster. The VMs that arrive
// in that time are added to a copy of the cluster.
func (t *Trace) Scenario(c *cluster.Cluster, minutes int64) *scenario.Scenario {
	own := *c
	own.VMs = slices.Clone(c.VMs)
	s := &scenario.Scenario{Name: c.Name, Cluster: &own, Length: minutes * 60}
	var d demand
	for i := range t.vms {
		m := &t.vms[i]
		begin, end := m.life()
		v := cluster.VMID(i)
		if i >= len(c.VMs) {
			if begin >= minutes {
				continue
			}
			v = cluster.VMID(len(own.VMs))
			own.VMs = append(own.VMs, VM(m.name, m.vcpus, m.memory))
			s.Events = append(s.Events, scenario.Event{At: begin * 60, Kind: scenario.ArriveEvent, VMs: []cluster.VMID{v}})
		}
		d = append(d, m)
		if end < minutes {
			s.Events = append(s.Events, scenario.Event{At: end * 60, Kind: scenario.DepartEvent, VMs: []cluster.VMID{v}})
		}
	}
	slices.SortStableFunc(s.Events, func(a, b scenario.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(b.Kind, a.Kind)) // departures come first
	})
	s.Demand = d
	return s
}

// demand is the demand of a scenario's VMs.
type demand []*vm

func (d demand) At(v cluster.VMID, second int64) scenario.Sample { return d[v].at(second / 60) }
