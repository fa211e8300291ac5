package load

import (
	"math"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	mib = 1 << 20
	// gathered is the minimum and maximum time that changes are gathered: publications take a
	// small part of the time.
	gathered, gatheredMost, part = 500 * time.Millisecond, 5 * time.Second, 50
	// renewed is the interval at which the statistics of all hosts are updated, by the
	// simulated clock, and the minimum by real time.
	renewed, renewedWall = time.Minute, 5 * time.Second
)

// publisher updates the quick statistics of VMs and hosts. A change is reported to it while
// objects are locked, so it publishes a moment later.
type publisher struct {
	load *Load
	end  chan struct{}
	over chan struct{}
	wake chan struct{}
	once sync.Once

	m     sync.Mutex
	hosts map[reference]bool // with changed sums
	shows map[reference]sums // published values of hosts
	sums  bool               // those of pools and clusters changed
}

// sums are MHz and MiB of a host.
type sums struct{ usage, memory int32 }

func newPublisher(l *Load) *publisher {
	p := &publisher{load: l, end: make(chan struct{}), over: make(chan struct{}), wake: make(chan struct{}, 1), hosts: map[reference]bool{}, shows: map[reference]sums{}}
	p.all()
	p.publish()
	go p.run()
	return p
}

// Close ends the publication.
func (l *Load) Close() {
	l.publisher.once.Do(func() { close(l.publisher.end) })
	<-l.publisher.over
}

// Publish updates the quick statistics of all VMs and hosts.
func (l *Load) Publish() {
	l.publisher.all()
	l.publisher.publish()
}

func (p *publisher) all() {
	p.m.Lock()
	defer p.m.Unlock()
	for _, e := range p.load.reg.All("HostSystem") {
		p.hosts[e.Reference()] = true
	}
}

// touch records a host whose VMs have changed.
func (p *publisher) touch(host reference) {
	p.m.Lock()
	p.hosts[host] = true
	p.m.Unlock()
	p.rouse()
}

// resum records that pools, hosts or clusters have changed.
func (p *publisher) resum() {
	p.m.Lock()
	p.sums = true
	p.m.Unlock()
	p.rouse()
}

func (p *publisher) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *publisher) run() {
	defer close(p.over)
	var renew <-chan struct{}
	took := time.Duration(0)
	stop := func() {}
	defer func() { stop() }()
	for {
		if renew == nil && p.load.varies {
			renew, stop = p.load.clock.After(renewed)
		}
		select {
		case <-p.end:
			return
		case <-renew:
			renew = nil
			p.all()
			if !p.pause(renewedWall) {
				return
			}
		case <-p.wake: // changes in quick succession are published together
			if !p.pause(min(max(gathered, part*took), gatheredMost)) {
				return
			}
		}
		began := time.Now()
		p.publish()
		took = time.Since(began)
	}
}

// pause waits for some real time, and reports whether publication continues.
func (p *publisher) pause(d time.Duration) bool {
	select {
	case <-p.end:
		return false
	case <-time.After(d):
		return true
	}
}

// publish sets the statistics of changed hosts and of their VMs.
func (p *publisher) publish() {
	p.m.Lock()
	hosts, sums := p.hosts, p.sums
	p.hosts, p.sums = map[reference]bool{}, false
	p.m.Unlock()
	ctx := &simulator.Context{Map: p.load.reg}
	for ref := range hosts {
		if host, ok := p.load.reg.Get(ref).(*simulator.HostSystem); ok {
			p.host(ctx, host)
		}
	}
	if len(hosts) == 0 && !sums {
		return
	}
	for _, e := range p.load.reg.All("ClusterComputeResource") {
		if c, ok := e.(*simulator.ClusterComputeResource); ok {
			p.cluster(ctx, c)
		}
	}
}

// figures are MHz and MiB.
type figures struct{ usage, demand, active, memory, overhead, ballooned, swapped int32 }

// whole is a number without its fraction.
func whole(x float64) int32 { return int32(math.Round(x)) }

// figuresOf are those of a usage.
func figuresOf(u *Usage) figures {
	return figures{
		usage: whole(u.Used), demand: whole(u.Demand), active: whole(u.Active / mib), memory: whole(u.Consumed / mib), overhead: whole(u.Overhead / mib),
		ballooned: whole(u.Ballooned / mib), swapped: whole(u.Swapped / mib),
	}
}

// host sets the statistics of a host and of its VMs. Statistics of a host that were set
// otherwise since the last publication stay until it is disconnected.
func (p *publisher) host(ctx *simulator.Context, host *simulator.HostSystem) {
	has, _ := p.load.Capacity(ctx, host.Self)
	used, memory := int64(0), int64(0)
	if has.connected {
		used, memory = has.ownCPU, has.ownMemory/mib
		for _, g := range p.load.now(host.Self, &has) {
			f := figuresOf(&g.Usage)
			used, memory = used+int64(f.usage), memory+int64(f.memory)+int64(f.overhead)
			if f != g.shows {
				p.set(ctx, host.Self, &g, f)
			}
		}
	}
	ctx.WithLock(host.Self, func() {
		stats := host.Summary.QuickStats
		if !p.mayShow(host.Self, sums{stats.OverallCpuUsage, stats.OverallMemoryUsage}, sums{int32(used), int32(memory)}, has.connected) {
			return
		}
		stats.OverallCpuUsage, stats.OverallMemoryUsage = int32(used), int32(memory)
		if stats != host.Summary.QuickStats {
			ctx.Update(host, []types.PropertyChange{{Name: "summary.quickStats", Val: stats}})
		}
	})
}

// mayShow records the values to publish of a host, unless its present values are not those
// published last.
func (p *publisher) mayShow(host reference, has, is sums, connected bool) bool {
	p.m.Lock()
	defer p.m.Unlock()
	if was, known := p.shows[host]; known && connected && was != has {
		return false
	}
	p.shows[host] = is
	return true
}

// shown converts quick statistics.
func shown(q *types.VirtualMachineQuickStats) figures {
	return figures{q.OverallCpuUsage, q.OverallCpuDemand, q.ActiveMemory, q.HostMemoryUsage, q.ConsumedOverheadMemory, q.BalloonedMemory, q.SwappedMemory}
}

// set publishes the statistics of a VM, if it still runs there. Those that a client has set
// since the last publication stay.
func (p *publisher) set(ctx *simulator.Context, host reference, g *gets, f figures) {
	vm := g.vm
	v, ok := p.load.reg.Get(vm).(*simulator.VirtualMachine)
	if !ok {
		return
	}
	ctx.WithLock(vm, func() {
		if v.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn || v.Runtime.Host == nil || *v.Runtime.Host != host {
			return
		}
		q := v.Summary.QuickStats
		if g.shows != (figures{}) && shown(&q) != g.shows {
			return
		}
		q.OverallCpuUsage, q.OverallCpuDemand = f.usage, f.demand
		q.GuestMemoryUsage, q.ActiveMemory = f.active, f.active
		q.HostMemoryUsage, q.PrivateMemory, q.ConsumedOverheadMemory = f.memory, f.memory, f.overhead
		q.BalloonedMemory, q.SwappedMemory = f.ballooned, f.swapped
		q.GrantedMemory = v.Config.Hardware.MemoryMB
		p.load.show(vm, f)
		ctx.Update(v, []types.PropertyChange{{Name: "summary.quickStats", Val: q}})
	})
}

// show records the published statistics of a VM, which is locked.
func (l *Load) show(vm reference, f figures) {
	l.m.Lock()
	defer l.m.Unlock()
	if i, known := l.log.vms.number[vm]; known {
		l.log.lives[i].shows = f
	}
}

// gets is the present usage of a VM, and its published statistics.
type gets struct {
	vm    reference
	shows figures
	Usage
}

// now is the present usage of the VMs on a host.
func (l *Load) now(host reference, has *Host) []gets {
	at := l.clock.Now().UnixMilli()
	l.m.Lock()
	stays := l.log.nowOn(l.log.hosts.of(host), at, at+1)
	list := make([]gets, len(stays))
	for i := range stays {
		list[i].vm, list[i].shows = l.log.vms.list[stays[i].vm], l.log.lives[stays[i].vm].shows
	}
	l.m.Unlock()
	claims := make([]claim, len(stays))
	for i := range stays {
		s, _ := l.at(&stays[i], at)
		claims[i] = claimOf(&stays[i], s, has.core())
	}
	d := divide(has, claims)
	for i := range claims {
		list[i].Usage = d.of(&claims[i])
	}
	return list
}
