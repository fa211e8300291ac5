// Package load computes what VMs and hosts use at any time: from the demand of VMs over time, from where
// they ran then, and from how hosts divide their capacity. Nothing is sampled and stored: the past is
// computed when it is asked for, from a log of the changes.
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

// Before is how long before its start a simulator has a past: VMs ran where they run at the start.
const Before = 24 * time.Hour

// slot is the shortest time of a sample, in milliseconds.
const slot = 20_000

// Sample is what a VM asks for.
type Sample struct {
	CPU              int64 // MHz
	Active, Consumed int64 // bytes of memory that it uses and holds
	Link             int64 // bit/s
}

// Course is the demand of the VMs of a cluster over time.
type Course interface {
	// At is the demand of a VM so many seconds after the simulator began, or before it where they are below 0.
	At(v cluster.VMID, second int64) Sample
	// Every is for how many seconds demand stays as it is: it changes at multiples of them.
	Every() int64
}

// Source is the demand of a cluster's VMs over time. Those that it lacks have a steady demand.
type Source struct {
	Cluster *cluster.Cluster
	Course  Course // nil where it is steady
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

// New begins to follow where VMs run, and to publish what they and their hosts use.
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

// bind gives VMs their courses, by the names of VMs and clusters.
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

// Host is what a host has.
type Host struct {
	CPU, Memory           int64 // MHz and bytes, for VMs
	CPUs                  int64 // cores
	MHz                   int64 // of a core
	AllMemory             int64 // bytes
	ownCPU, ownMemory     int64 // of the hypervisor
	connected, maintained bool
}

func (h *Host) core() float64 { return float64(h.MHz) }

// Capacity is what a host has.
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

// at is what a VM asks for, and until when.
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

// Up is for how long a VM has run at the end of each interval; 0 where it does not.
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

// Since is the time from which on the load is known.
func (l *Load) Since() time.Time {
	l.m.Lock()
	defer l.m.Unlock()
	return time.UnixMilli(l.log.from)
}
