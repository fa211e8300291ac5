package importer

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"plimsoll/internal/cluster"
)

// surveyed is the summary of a whole trace.
type surveyed struct {
	vms    int
	ends   int64 // the last sample, or the last arrival if there are none
	vcpus  int   // of the largest VM
	memory int64 // of the largest VM
	mhz    int64 // of the fastest core
	total  int64 // bytes of all VMs ever
	peak   profile
}

func survey(ctx context.Context, src source, o Options) (*surveyed, error) {
	s := &surveyed{}
	err := o.pass(ctx, src.sketch, func(m *vm) error {
		s.vms++
		s.vcpus, s.memory, s.mhz = max(s.vcpus, m.vcpus), max(s.memory, m.memory), max(s.mhz, m.mhz)
		s.ends = max(s.ends, m.from)
		if n := len(m.points); n > 0 {
			s.ends = max(s.ends, m.points[n-1].second)
		}
		if s.total += m.memory; s.total < 0 {
			return errors.New("the total memory of all VMs is too large")
		}
		s.peak.add(m)
		return nil
	})
	if err == nil && s.vms == 0 {
		err = errors.New("the trace has no VMs")
	}
	return s, err
}

// Defaults of a host and of a cluster.
const (
	usualCores  = 64
	usualMemory = 512 << 30
	usualMHz    = 2600
	mostHosts   = 20_000
	fill        = 85 // memory of VMs at the peak, in per cent of the hosts' memory
)

// cluster is a cluster without VMs, whose hosts hold the peak of the trace.
func (s *surveyed) cluster(f *format, o Options) (*cluster.Cluster, error) {
	h := cluster.Host{
		State: cluster.Connected, Sockets: 1, NodesPerSocket: 1, ThreadsPerCore: 2, Factor: 1000, NIC: 10_000_000_000,
		CoresPerNode: o.HostCores, Memory: o.HostMemory, MHz: o.MHz,
	}
	if h.CoresPerNode == 0 {
		h.CoresPerNode = max(usualCores, s.vcpus)
	}
	if h.CoresPerNode%2 == 0 {
		h.Sockets, h.CoresPerNode = 2, h.CoresPerNode/2
	}
	if h.Memory == 0 {
		h.Memory = usualMemory
		if s.memory > h.Memory/2 {
			h.Memory = 2 << bits.Len64(uint64(s.memory)-1)
		}
	}
	if h.MHz == 0 {
		h.MHz = usualMHz
		if s.mhz > 0 {
			h.MHz = s.mhz
		}
	}
	if threads := h.Cores() * h.ThreadsPerCore; s.vcpus > threads || s.memory > h.Memory {
		return nil, fmt.Errorf("the largest VMs have %d vCPUs and %d MiB of memory, but a host has %d threads and %d MiB: use larger hosts", s.vcpus, s.memory>>20, threads, h.Memory>>20)
	}
	n := int64(o.Hosts)
	if n == 0 {
		vcpus, memory := s.peak.most()
		n = max(1, over(vcpus, int64(h.Cores())*f.vcpusPerCore), over(memory, h.Memory/100*fill))
	}
	if n > mostHosts {
		return nil, fmt.Errorf("the peak of the trace needs %d hosts, but a cluster has at most %d: use larger hosts, or --every", n, mostHosts)
	}
	root := cluster.Pool{Name: "root", Parent: cluster.Nowhere, Level: cluster.ShareNormal}
	cpu, memory := cluster.PoolShares(root.Level)
	root.CPU = cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu, Expandable: true}
	root.Mem = cluster.Allocation{Limit: cluster.Unlimited, Shares: memory, Expandable: true}
	c := &cluster.Cluster{Name: f.name, Pools: []cluster.Pool{root}, Settings: cluster.DefaultSettings()}
	for i := range n {
		h.Name = fmt.Sprintf("host-%d", i+1)
		c.Hosts = append(c.Hosts, h)
	}
	return c, nil
}

// over is a quotient, rounded up.
func over(a, b int64) int64 { return (a + b - 1) / b }

// profile is the total size over time, in a bounded number of time steps. A VM counts for the
// whole of each step in which it existed, so the peak is never underestimated.
type profile struct {
	width int64 // seconds of a step
	steps []step
}

type step struct{ vcpusIn, vcpusOut, memoryIn, memoryOut int64 }

const mostSteps = 1 << 15

func (p *profile) add(m *vm) {
	from := max(0, m.from)
	if m.to < from {
		return
	}
	in := p.at(from)
	in.vcpusIn += int64(m.vcpus)
	in.memoryIn += m.memory
	if m.to != forever {
		out := p.at(m.to)
		out.vcpusOut += int64(m.vcpus)
		out.memoryOut += m.memory
	}
}

// at is the step that contains a second. Steps are widened when there are too many.
func (p *profile) at(second int64) *step {
	p.width = max(p.width, 60)
	for second/p.width >= mostSteps {
		for i := range p.steps {
			s := p.steps[i]
			p.steps[i] = step{}
			into := &p.steps[i/2]
			into.vcpusIn += s.vcpusIn
			into.vcpusOut += s.vcpusOut
			into.memoryIn += s.memoryIn
			into.memoryOut += s.memoryOut
		}
		p.steps = p.steps[:(len(p.steps)+1)/2]
		p.width *= 2
	}
	i := int(second / p.width)
	if n := i + 1 - len(p.steps); n > 0 {
		p.steps = append(p.steps, make([]step, n)...)
	}
	return &p.steps[i]
}

// most is the highest number of vCPUs and of bytes at one time.
func (p *profile) most() (vcpus, memory int64) {
	var v, m int64
	for i := range p.steps {
		v, m = v+p.steps[i].vcpusIn, m+p.steps[i].memoryIn
		vcpus, memory = max(vcpus, v), max(memory, m)
		v, m = v-p.steps[i].vcpusOut, m-p.steps[i].memoryOut
	}
	return vcpus, memory
}
