package trace

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
)

// Trace is the demand of VMs over time, and when they come and go. It is asked as
// one that is generated.
type Trace struct {
	vms    []vm
	first  int   // VMs that are there when the trace begins
	length int64 // seconds
}

type vm struct {
	name     string
	vcpus    int
	memory   int64
	from, to int64    // seconds
	last     int64    // second of the latest row
	samples  []sample // by time
	highs    []high   // the most that it used so far, by time
}

// sample is kept small: a month of a thousand VMs has ten million.
type sample struct {
	second, cpu uint32
	active      int64
}

type high struct{ second, active int64 }

// Read reads a trace. The name is for complaints. The first VMs are those that are
// there in second 0, in the order in which they are named; behind them are those that
// arrive later. Of a mistake there is no trace.
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
		m.samples = slices.Clone(m.samples) // without the room for more
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
		t.vms = append(t.vms, vm{name: row.VM, vcpus: row.VCPUs, memory: row.Memory, from: row.Second, to: generate.Forever, last: row.Second})
		return nil
	}
	if !known {
		return fmt.Errorf("VM %s has not arrived", row.VM)
	}
	m := &t.vms[i]
	if m.to != generate.Forever {
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

// add takes one more sample, which is kept where it changes something.
func (m *vm) add(s sample) {
	if n := len(m.samples); n > 0 && m.samples[n-1].cpu == s.cpu && m.samples[n-1].active == s.active {
		return
	}
	m.samples = append(m.samples, s)
	if n := len(m.highs); n == 0 || s.active > m.highs[n-1].active {
		m.highs = append(m.highs, high{int64(s.second), s.active})
	}
}

// VMs is how many there are, those that arrive later included.
func (t *Trace) VMs() int { return len(t.vms) }

// First is how many are there when the trace begins; they come first.
func (t *Trace) First() int { return t.first }

// Length is for how many seconds the trace was taken.
func (t *Trace) Length() int64 { return t.length }

// Follows says whether a trace follows on a cluster: whether the VMs with which it
// begins are those of the cluster, in the same order. The error names the first that is
// not.
func (t *Trace) Follows(c *cluster.Cluster) error {
	if t.first != len(c.VMs) {
		return fmt.Errorf("the trace begins with %d VMs and the cluster has %d: they are from different imports", t.first, len(c.VMs))
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

// VM is a VM without host and demand; those that arrive later wait to be placed.
func (t *Trace) VM(i int) cluster.VM {
	m := &t.vms[i]
	v := VM(m.name, m.vcpus, m.memory)
	v.Waiting = i >= t.first
	return v
}

// VM is one of a size, with what a cluster file says of one when it says nothing
// else: no host, no demand, normal shares, nothing reserved.
func VM(name string, vcpus int, memory int64) cluster.VM {
	cpu, mem := cluster.VMShares(cluster.ShareNormal, vcpus, memory)
	return cluster.VM{
		Name: name, Host: cluster.Nowhere, VCPUs: vcpus, Memory: memory,
		CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: mem},
	}
}

// Span is from which second on a VM is there, and from which on no more:
// generate.Forever when it does not depart.
func (t *Trace) Span(i int) (from, to int64) { return t.vms[i].from, t.vms[i].to }

// Life is from which minute on a VM is there, and from which on no more. One that
// is there at no full minute counts for one.
func (t *Trace) Life(i int) (from, to int64) {
	m := &t.vms[i]
	from = (m.from + 59) / 60
	if m.to == generate.Forever {
		return from, generate.Forever
	}
	return from, max(from+1, (m.to+59)/60)
}

// At is what a VM asks for at a minute; nothing when it is not there.
func (t *Trace) At(i int, minute int64) generate.Sample {
	from, to := t.Life(i)
	if minute < from || minute >= to || minute > math.MaxInt64/60 {
		return generate.Sample{}
	}
	return t.vms[i].at(minute * 60)
}

// AtSecond is what a VM asks for at a second; nothing when it is not there.
func (t *Trace) AtSecond(i int, second int64) generate.Sample {
	m := &t.vms[i]
	if second < m.from || second >= m.to {
		return generate.Sample{}
	}
	return m.at(second)
}

// at is the latest sample at a second. The VM holds the most that it used so far:
// what it used stays with it.
func (m *vm) at(second int64) generate.Sample {
	n, found := slices.BinarySearchFunc(m.samples, second, func(s sample, second int64) int { return cmp.Compare(int64(s.second), second) })
	if !found {
		n--
	}
	if n < 0 {
		return generate.Sample{}
	}
	k, found := slices.BinarySearchFunc(m.highs, second, func(h high, second int64) int { return cmp.Compare(h.second, second) })
	if !found {
		k--
	}
	return generate.Sample{CPU: int64(m.samples[n].cpu), Active: m.samples[n].active, Consumed: m.highs[k].active}
}

// Events are the arrivals after the beginning and all departures, in order of time;
// departures come first, then the order of VMs decides.
func (t *Trace) Events() iter.Seq[generate.Event] {
	var all []generate.Event
	for i := range t.vms {
		from, to := t.Life(i)
		if i >= t.first {
			all = append(all, generate.Event{Minute: from, VM: i, Arrives: true})
		}
		if to != generate.Forever {
			all = append(all, generate.Event{Minute: to, VM: i})
		}
	}
	slices.SortFunc(all, func(a, b generate.Event) int {
		return cmp.Or(cmp.Compare(a.Minute, b.Minute), cmp.Compare(arrives(a), arrives(b)), cmp.Compare(a.VM, b.VM))
	})
	return slices.Values(all)
}

func arrives(e generate.Event) int {
	if e.Arrives {
		return 1
	}
	return 0
}
