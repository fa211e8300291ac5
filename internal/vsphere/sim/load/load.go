// Package load computes the usage of VMs and hosts at any time: from the demand of VMs over
// time, their hosts at that time, and the division of the hosts' capacity. No samples are
// stored: the past is computed on demand, from a log of changes.
package load

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/model"
)

type reference = types.ManagedObjectReference

// Before is the length of the history before a simulator's start: VMs ran where they run at
// the start.
const Before = 24 * time.Hour

// slot is the shortest sampling interval, in milliseconds.
const slot = 20_000

// Sample is the demand of a VM.
type Sample struct {
	CPU              int64 // MHz
	Active, Consumed int64 // active and consumed memory in bytes
	Link             int64 // bit/s
}

// DemandSeries is the demand of the VMs of a cluster over time.
type DemandSeries interface {
	// At is the demand of a VM a number of seconds after the simulator's start, or before it
	// if negative.
	At(v cluster.VMID, second int64) Sample
	// Every is the interval of changes in seconds: demand changes at multiples of it.
	Every() int64
}

// Source is the demand of a cluster's VMs over time. VMs without one have a steady demand.
type Source struct {
	Cluster *cluster.Cluster
	Course  DemandSeries // nil if steady
}

// Load is the load of all VMs and hosts.
type Load struct {
	reg   *simulator.Registry
	clock *clock.Clock
	model *model.Model
	start int64 // milliseconds since 1970

	varies    bool // the demand of some VMs is not steady
	publisher *publisher
	blocks    blocks

	m   sync.Mutex
	log *log
}

// New starts to record the hosts of VMs, and to publish the usage of VMs and hosts.
func New(reg *simulator.Registry, c *clock.Clock, of *model.Model, sources []Source) *Load {
	now := c.Now().UnixMilli()
	l := &Load{reg: reg, clock: c, model: of, start: now, log: newLog(now - Before.Milliseconds())}
	old := true
	of.Watch(func(s model.Seen) {
		l.m.Lock()
		defer l.m.Unlock()
		from := l.log.note(c.Now().UnixMilli(), s, old)
		if l.publisher != nil {
			l.publisher.touch(s.Host)
			l.publisher.touch(from)
		}
	})
	l.m.Lock()
	l.bind(sources)
	l.m.Unlock()
	p := newPublisher(l)
	l.m.Lock()
	defer l.m.Unlock()
	old, l.publisher = false, p
	reg.AddHandler(&listener{p})
	return l
}

// bind assigns courses to VMs, by the names of VMs and clusters.
func (l *Load) bind(sources []Source) {
	type place struct{ cluster, vm string }
	courses := map[place]life{}
	for _, s := range sources {
		for i := range s.Cluster.VMs {
			courses[place{s.Cluster.Name, s.Cluster.VMs[i].Name}] = life{course: s.Course, id: cluster.VMID(i)}
		}
	}
	for i, ref := range l.log.vms.list {
		vm, ok := l.reg.Get(ref).(*simulator.VirtualMachine)
		if !ok || vm.Runtime.Host == nil {
			continue
		}
		host, ok := l.reg.Get(*vm.Runtime.Host).(*simulator.HostSystem)
		if !ok || host.Parent == nil {
			continue
		}
		if c, is := l.reg.Get(*host.Parent).(mo.Entity); is {
			is := courses[place{c.Entity().Name, vm.Name}]
			l.log.lives[i].course, l.log.lives[i].id = is.course, is.id
			l.varies = l.varies || is.course != nil
		}
	}
}

// Host is the capacity of a host.
type Host struct {
	CPU, Memory           int64 // MHz and bytes, for VMs
	CPUs                  int64 // cores
	MHz                   int64 // of a core
	AllMemory             int64 // bytes
	ownCPU, ownMemory     int64 // of the hypervisor
	connected, maintained bool
}

func (h *Host) core() float64 { return float64(h.MHz) }

// Capacity is the capacity of a host.
func (l *Load) Capacity(ctx *simulator.Context, ref reference) (h Host, known bool) {
	o, ok := l.reg.Get(ref).(*simulator.HostSystem)
	if !ok {
		return h, false
	}
	ctx.WithLock(o, func() {
		w := o.Summary.Hardware
		h = Host{CPUs: int64(w.NumCpuCores), MHz: int64(w.CpuMhz), AllMemory: w.MemorySize}
		if r := o.SystemResources; r != nil && r.Config != nil {
			h.ownCPU, h.ownMemory = config.CPU(&r.Config.CpuAllocation).Reservation, config.Memory(&r.Config.MemoryAllocation).Reservation
		}
		h.connected, h.maintained = o.Runtime.ConnectionState == types.HostSystemConnectionStateConnected, o.Runtime.InMaintenanceMode
	})
	h.CPU, h.Memory = max(0, h.CPUs*h.MHz-h.ownCPU), max(0, h.AllMemory-h.ownMemory)
	return h, true
}

// at is the demand of a VM, and its end.
func (l *Load) at(st *stay, at int64) (s Sample, until int64) {
	if st.course == nil {
		return st.size.steady, st.to
	}
	every := st.course.Every() * 1000
	k := floor(at-l.start, every)
	return st.course.At(st.id, k*every/1000), l.start + (k+1)*every
}

// floor is a quotient, rounded down.
func floor(a, by int64) int64 {
	q := a / by
	if a%by < 0 {
		q--
	}
	return q
}

// Up is the uptime of a VM at the end of each interval; 0 if it is off.
func (l *Load) Up(vm reference, g Grid) []time.Duration {
	up := make([]time.Duration, g.N)
	l.m.Lock()
	defer l.m.Unlock()
	i, known := l.log.vms.number[vm]
	if !known {
		return up
	}
	states, next, began := l.log.lives[i].states, 0, int64(-1)
	for k := range up {
		at := g.Start.Add(time.Duration(k+1) * g.Step).UnixMilli()
		for ; next < len(states) && states[next].at < at; next++ {
			switch {
			case states[next].size == nil:
				began = -1
			case began < 0:
				began = states[next].at
			}
		}
		if began >= 0 {
			up[k] = time.Duration(at-began) * time.Millisecond
		}
	}
	return up
}

// Since is the start of the known load.
func (l *Load) Since() time.Time {
	l.m.Lock()
	defer l.m.Unlock()
	return time.UnixMilli(l.log.from)
}
