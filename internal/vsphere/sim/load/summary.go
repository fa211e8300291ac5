package load

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/vsphere/config"
)

// sum is the capacity and usage of a cluster.
type sum struct {
	hosts            []reference
	has              Host              // of the hosts that run VMs
	free             cluster.Resources // of usable hosts
	usable           int32
	on, all          int32
	reserved, unused cluster.Resources // of running VMs, and of others
	demand, used     cluster.Resources
	score            float64
}

// cluster publishes the usage of a cluster and of its pools.
func (p *publisher) cluster(ctx *simulator.Context, c *simulator.ClusterComputeResource) {
	l := p.load
	var s sum
	var root *reference
	var settings cluster.Settings
	ctx.WithLock(c, func() {
		s.hosts, root = slices.Clone(c.Host), c.ResourcePool
		if set, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			settings = config.Settings(set, len(c.Host))
		}
	})
	if root == nil {
		return
	}
	hosts := map[reference]Host{}
	for _, ref := range s.hosts {
		h, known := l.Capacity(ctx, ref)
		if !known || !h.connected {
			continue
		}
		hosts[ref] = h
		s.has.plus(&h)
		if !h.maintained {
			s.free, s.usable = s.free.Plus(cluster.Resources{CPU: h.CPU, Memory: h.Memory}), s.usable+1
		}
	}
	list := l.pools(ctx, *root, cluster.Resources{CPU: s.has.CPU, Memory: s.has.Memory})
	l.count(&s, list, hosts, contention.Threshold(settings))
	tell(ctx, list, settle(list))
	p.summarise(ctx, c, &s)
}

// count sums up the VMs of a cluster.
func (l *Load) count(s *sum, list []pool, hosts map[reference]Host, threshold int64) {
	at := make(map[reference]int, len(list))
	for i := range list {
		at[list[i].of.Self] = i
	}
	l.m.Lock()
	defer l.m.Unlock()
	for _, ref := range s.hosts {
		h := l.log.hosts.of(ref)
		if int(h) >= len(l.log.on) {
			continue
		}
		var on int32
		var asks cluster.Resources
		for vm := range l.log.at[h] {
			v := &l.log.lives[vm]
			last := v.states[len(v.states)-1]
			s.all++
			if last.size == nil {
				if v.size != nil {
					s.unused = s.unused.Plus(cluster.Resources{CPU: v.size.cpu.Reservation, Memory: v.size.mem.Reservation})
				}
				continue
			}
			on++
			f := &v.shows
			asks = asks.Plus(cluster.Resources{CPU: int64(f.demand), Memory: int64(f.memory+f.overhead) * mib})
			s.used = s.used.Plus(cluster.Resources{CPU: int64(f.usage), Memory: int64(f.memory+f.overhead) * mib})
			s.reserved = s.reserved.Plus(cluster.Resources{CPU: last.size.cpu.Reservation, Memory: last.size.mem.Reservation})
			if i, known := at[l.log.pools.list[last.pool]]; known {
				enter(list, i, last.size, f)
			}
		}
		s.demand, s.on = s.demand.Plus(asks), s.on+on
		has := hosts[ref]
		s.rate(on, 1-float64(max(contention.Loss(contention.Load(asks.CPU, has.CPU), threshold), contention.Memory(asks.Memory, has.Memory)))/1e6)
	}
}

// rate adds the VMs of a host with the part of their work that is not lost.
func (s *sum) rate(on int32, part float64) {
	if on == 0 {
		return
	}
	s.score += part * float64(on)
}

// summarise publishes the summary of a cluster.
func (p *publisher) summarise(ctx *simulator.Context, c *simulator.ClusterComputeResource, s *sum) {

	ctx.WithLock(c, func() {
		old, ok := c.Summary.(*types.ClusterComputeResourceSummary)
		if !ok {
			return
		}
		is := *old
		is.EffectiveCpu, is.EffectiveMemory, is.NumEffectiveHosts = int32(s.free.CPU), s.free.Memory/mib, s.usable
		if is.DrsScore = 0; s.on > 0 {
			is.DrsScore = int32(100*s.score/float64(s.on) + .5)
		}
		is.NumVmotions = max(is.NumVmotions, int32(len(c.MigrationHistory)))
		is.UsageSummary = &types.ClusterUsageSummary{
			TotalCpuCapacityMhz: int32(s.has.CPU), TotalMemCapacityMB: int32(s.has.Memory / mib),
			CpuReservationMhz: int32(s.reserved.CPU), MemReservationMB: int32(s.reserved.Memory / mib),
			PoweredOffCpuReservationMhz: int32(s.unused.CPU), PoweredOffMemReservationMB: int32(s.unused.Memory / mib),
			CpuDemandMhz: int32(s.demand.CPU), MemDemandMB: int32(s.demand.Memory / mib),
			CpuEntitledMhz: int32(s.used.CPU), MemEntitledMB: int32(s.used.Memory / mib),
			PoweredOffVmCount: s.all - s.on, TotalVmCount: s.all,
		}
		if u := old.UsageSummary; u != nil {
			is.UsageSummary.StatsGenNumber = u.StatsGenNumber
			if *u == *is.UsageSummary && old.EffectiveCpu == is.EffectiveCpu && old.EffectiveMemory == is.EffectiveMemory && old.NumEffectiveHosts == is.NumEffectiveHosts &&
				old.DrsScore == is.DrsScore && old.NumVmotions == is.NumVmotions {
				return
			}
			is.UsageSummary.StatsGenNumber++
		}
		ctx.Update(c, []types.PropertyChange{{Name: "summary", Val: &is}})
	})
}
