package model

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// every is how long changes are gathered.
const every = 500 * time.Millisecond

// publisher keeps the quick statistics of VMs and hosts in step with where VMs run. It has no lock of
// an object when it is told of a change, and publishes a moment later.
type publisher struct {
	model *Model
	end   chan struct{}
	over  chan struct{}
	wake  chan struct{}
	once  sync.Once

	m     sync.Mutex
	hosts map[reference]bool // whose sums changed
}

func newPublisher(b *Model) *publisher {
	p := &publisher{model: b, end: make(chan struct{}), over: make(chan struct{}), wake: make(chan struct{}, 1), hosts: map[reference]bool{}}
	for _, e := range b.reg.All("HostSystem") {
		p.hosts[e.Reference()] = true
	}
	p.publish()
	go p.run()
	return p
}

func (p *publisher) close() {
	p.once.Do(func() { close(p.end) })
	<-p.over
}

// touch notes hosts whose VMs have changed.
func (p *publisher) touch(_ reference, hosts ...reference) {
	p.m.Lock()
	for _, h := range hosts {
		p.hosts[h] = true
	}
	p.m.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *publisher) run() {
	defer close(p.over)
	for {
		select {
		case <-p.end:
			return
		case <-p.wake:
		}
		select { // what changes together is published together
		case <-p.end:
			return
		case <-time.After(every):
			p.publish()
		}
	}
}

// usage is what a VM gets.
type usage struct {
	ref  reference
	of   *vm
	gets figures
}

// figures are MHz and MiB.
type figures struct{ usage, demand, active, memory, overhead int32 }

// publish sets the statistics of the hosts that changed and of their VMs.
func (p *publisher) publish() {
	p.m.Lock()
	hosts := p.hosts
	p.hosts = map[reference]bool{}
	p.m.Unlock()
	ctx := &simulator.Context{Map: p.model.reg}
	on := p.model.running(hosts)
	for ref := range hosts {
		host, ok := p.model.reg.Get(ref).(*simulator.HostSystem)
		if !ok {
			continue
		}
		var capacity int64
		ctx.WithLock(ref, func() {
			capacity = int64(host.Summary.Hardware.CpuMhz) * int64(host.Summary.Hardware.NumCpuCores)
			if !host.Runtime.InMaintenanceMode && host.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
				capacity = 0
			}
		})
		all := share(on[ref], capacity)
		sum := types.HostListSummaryQuickStats{}
		for _, u := range all {
			sum.OverallCpuUsage += u.gets.usage
			sum.OverallMemoryUsage += u.gets.memory + u.gets.overhead
			if u.of.shows != u.gets { // nobody else reads it
				u.of.shows = u.gets
				p.set(ctx, ref, u)
			}
		}
		ctx.WithLock(ref, func() {
			stats := host.Summary.QuickStats
			stats.OverallCpuUsage, stats.OverallMemoryUsage = sum.OverallCpuUsage, sum.OverallMemoryUsage
			if stats != host.Summary.QuickStats {
				ctx.Update(host, []types.PropertyChange{{Name: "summary.quickStats", Val: stats}})
			}
		})
	}
}

// share divides a host's CPU among the VMs that run there, in proportion to their demand where it is
// more than the host has.
func share(all []usage, capacity int64) []usage {
	var demand int64
	for i := range all {
		demand += int64(all[i].gets.demand)
	}
	for i := range all {
		f := &all[i].gets
		f.usage = f.demand
		if demand > capacity {
			f.usage = int32(int64(f.demand) * capacity / demand)
		}
	}
	return all
}

// set publishes the statistics of a VM, if it still runs there.
func (p *publisher) set(ctx *simulator.Context, host reference, u usage) {
	v, ok := p.model.reg.Get(u.ref).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	ctx.WithLock(u.ref, func() {
		if v.Runtime.PowerState != on || v.Runtime.Host == nil || *v.Runtime.Host != host {
			return
		}
		q := v.Summary.QuickStats
		f := &u.gets
		if q.OverallCpuUsage == f.usage && q.OverallCpuDemand == f.demand && q.HostMemoryUsage == f.memory && q.ActiveMemory == f.active {
			return
		}
		q.OverallCpuUsage, q.OverallCpuDemand = f.usage, f.demand
		q.GuestMemoryUsage, q.ActiveMemory = f.active, f.active
		q.HostMemoryUsage, q.PrivateMemory, q.ConsumedOverheadMemory = f.memory, f.memory, f.overhead
		q.GrantedMemory = v.Config.Hardware.MemoryMB
		ctx.Update(v, []types.PropertyChange{{Name: "summary.quickStats", Val: q}})
	})
}

// running is the demand of the VMs that run on some hosts.
func (m *Model) running(hosts map[reference]bool) map[reference][]usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[reference][]usage{}
	for host := range hosts {
		for ref, v := range m.at[host] {
			if !v.on {
				continue
			}
			d := &v.size.Demand
			all[host] = append(all[host], usage{ref, v, figures{
				demand: int32(d.CPU.Recent), active: int32(d.Active.Recent / mib), memory: int32(d.Consumed / mib), overhead: int32(v.size.Overhead / mib),
			}})
		}
	}
	return all
}
