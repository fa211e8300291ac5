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
	ref   reference
	stats types.VirtualMachineQuickStats
}

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
		ctx.WithLock(host, func() {
			capacity = int64(host.Summary.Hardware.CpuMhz) * int64(host.Summary.Hardware.NumCpuCores)
			if !host.Runtime.InMaintenanceMode && host.Runtime.ConnectionState != types.HostSystemConnectionStateConnected {
				capacity = 0
			}
		})
		all := share(on[ref], capacity)
		sum := types.HostListSummaryQuickStats{}
		for _, u := range all {
			sum.OverallCpuUsage += u.stats.OverallCpuUsage
			sum.OverallMemoryUsage += u.stats.HostMemoryUsage + u.stats.ConsumedOverheadMemory
			p.set(ctx, ref, u)
		}
		ctx.WithLock(host, func() {
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
		demand += int64(all[i].stats.OverallCpuDemand)
	}
	for i := range all {
		s := &all[i].stats
		s.OverallCpuUsage = s.OverallCpuDemand
		if demand > capacity {
			s.OverallCpuUsage = int32(int64(s.OverallCpuDemand) * capacity / demand)
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
	ctx.WithLock(v, func() {
		if v.Runtime.PowerState != on || v.Runtime.Host == nil || *v.Runtime.Host != host {
			return
		}
		q := v.Summary.QuickStats
		s := &u.stats
		if q.OverallCpuUsage == s.OverallCpuUsage && q.OverallCpuDemand == s.OverallCpuDemand && q.HostMemoryUsage == s.HostMemoryUsage && q.ActiveMemory == s.ActiveMemory {
			return
		}
		q.OverallCpuUsage, q.OverallCpuDemand = s.OverallCpuUsage, s.OverallCpuDemand
		q.GuestMemoryUsage, q.ActiveMemory = s.ActiveMemory, s.ActiveMemory
		q.HostMemoryUsage, q.PrivateMemory, q.ConsumedOverheadMemory = s.HostMemoryUsage, s.HostMemoryUsage, s.ConsumedOverheadMemory
		q.GrantedMemory = v.Config.Hardware.MemoryMB
		ctx.Update(v, []types.PropertyChange{{Name: "summary.quickStats", Val: q}})
	})
}

// running is the demand of the VMs that run on some hosts.
func (m *Model) running(hosts map[reference]bool) map[reference][]usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[reference][]usage{}
	for ref, v := range m.vms {
		if !v.on || !hosts[v.host] {
			continue
		}
		d := &v.size.Demand
		all[v.host] = append(all[v.host], usage{ref, types.VirtualMachineQuickStats{
			OverallCpuDemand: int32(d.CPU.Recent), ActiveMemory: int32(d.Active.Recent / mib), HostMemoryUsage: int32(d.Consumed / mib),
			ConsumedOverheadMemory: int32(v.size.Overhead / mib),
		}})
	}
	return all
}
