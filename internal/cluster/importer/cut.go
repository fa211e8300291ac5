package importer

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/trace"
)

// cut splits a trace at a time: VMs that exist then become the VMs of the cluster, with their
// observed demand; the rest goes to the new trace.
type cut struct {
	at      int64
	o       Options
	out     *trace.Writer // or nil
	cluster *cluster.Cluster
	later   int
}

const mostVMs = 400_000

// unseen is the assumed demand of a VM without samples, in per cent of its size, as in a
// cluster file.
const unseen = 50

func (k *cut) take(m *vm) error {
	if m.to <= max(k.at, m.from) {
		return nil
	}
	if m.from > k.at {
		k.later++
		return k.write(m)
	}
	if len(k.cluster.VMs) == mostVMs {
		return fmt.Errorf("more than %d VMs at %d s, too many for a cluster file: use --every, or another --at", mostVMs, k.at)
	}
	v := trace.VM(m.name, m.vcpus, m.memory)
	v.Demand = k.seen(m)
	k.cluster.VMs = append(k.cluster.VMs, v)
	return k.write(m)
}

// seen is the demand up to that time. The maximum so far is consumed memory.
func (k *cut) seen(m *vm) (d cluster.Demand) {
	if len(m.points) == 0 && k.o.Demand > 0 {
		p := k.assumed(m)
		return cluster.Demand{CPU: cluster.Steady(float64(p.cpu)), Active: cluster.Steady(float64(p.active)), Consumed: p.active}
	}
	for _, p := range m.points {
		if p.second > k.at {
			break
		}
		d.CPU.Add(float64(p.cpu))
		d.Active.Add(float64(p.active))
		d.Consumed, d.Link = max(d.Consumed, p.active), p.link
	}
	return d
}

func (k *cut) assumed(m *vm) point {
	part := int64(cmp.Or(k.o.Demand, unseen))
	return point{second: m.from, cpu: int64(m.vcpus) * k.cluster.Hosts[0].MHz * part / 100, active: m.memory * part / 100}
}

func (k *cut) write(m *vm) error {
	if k.out == nil {
		return nil
	}
	from := max(m.from, k.at)
	rows := append(make([]trace.Row, 0, 3), trace.Row{Second: from - k.at, VM: m.name, Kind: trace.Arrive, VCPUs: m.vcpus, Memory: m.memory})
	for _, p := range k.following(m) {
		rows = append(rows, trace.Row{Second: max(p.second, from) - k.at, VM: m.name, Kind: trace.Demand, CPU: p.cpu, Active: p.active})
	}
	if m.to != forever {
		rows = append(rows, trace.Row{Second: m.to - k.at, VM: m.name, Kind: trace.Depart})
	}
	for _, r := range rows {
		if err := k.out.Write(r); err != nil {
			return err
		}
	}
	return nil
}

// following are the samples from that time on, preceded by the latest before it.
func (k *cut) following(m *vm) []point {
	if len(m.points) == 0 {
		return []point{k.assumed(m)}
	}
	i, found := slices.BinarySearchFunc(m.points, k.at, func(p point, at int64) int { return cmp.Compare(p.second, at) })
	if !found && i > 0 {
		i--
	}
	return m.points[i:]
}

// deal assigns hosts, which traces do not contain: the largest VM first, each to the least
// loaded host. It returns the number of VMs with a host; a VM whose memory fits nowhere waits.
func deal(c *cluster.Cluster) int {
	order := make([]int, len(c.VMs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &c.VMs[a], &c.VMs[b]
		return cmp.Or(cmp.Compare(y.Memory, x.Memory), cmp.Compare(y.VCPUs, x.VCPUs))
	})
	has := c.Hosts[0].Capacity().Memory
	free := make(emptiest, len(c.Hosts))
	for i := range free {
		free[i] = space{host: cluster.HostID(i), memory: has}
	}
	dealt := 0
	for _, i := range order {
		v := &c.VMs[i]
		if free[0].memory < v.Memory {
			continue
		}
		v.Host, v.Waiting = free[0].host, false
		free[0].memory -= v.Memory
		free[0].vcpus += v.VCPUs
		heap.Fix(&free, 0)
		dealt++
	}
	return dealt
}

// space is the free capacity of a host.
type space struct {
	host   cluster.HostID
	memory int64 // bytes left
	vcpus  int   // of its VMs
}

// emptiest is a heap of hosts by free memory, most first.
type emptiest []space

func (e emptiest) Len() int { return len(e) }
func (e emptiest) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(e[j].memory, e[i].memory), cmp.Compare(e[i].vcpus, e[j].vcpus), cmp.Compare(e[i].host, e[j].host)) < 0
}
func (e emptiest) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *emptiest) Push(x any)   { *e = append(*e, x.(space)) }
func (e *emptiest) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
