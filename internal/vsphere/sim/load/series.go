package load

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
)

// Grid is a sequence of intervals.
type Grid struct {
	Start time.Time
	Step  time.Duration
	N     int
}

// Series is the mean usage of an object in each interval.
type Series struct {
	Usage    []Usage
	Capacity Host // of a host, or of all hosts of a cluster
}

// wanted is the objects whose usage is summed up, by number.
type wanted struct {
	vms, hosts, pools map[int32][]int
	all               []int32 // hosts to scan
}

// Series are those of VMs, hosts, pools and clusters. Objects without VMs have no usage.
func (l *Load) Series(ctx *simulator.Context, g Grid, of []reference) []Series {
	out := make([]Series, len(of))
	for i := range out {
		out[i].Usage = make([]Usage, g.N)
	}
	from, step := g.Start.UnixMilli(), g.Step.Milliseconds()
	to := from + step*int64(g.N)
	in := span{from, to, step}
	w := l.want(ctx, in, of, out)
	if len(w.vms) == 0 && len(w.pools) == 0 && l.whole(in) {
		means := l.means(ctx, w.all, in)
		for _, h := range w.all {
			for k, u := range means[h] {
				for _, i := range w.hosts[h] {
					at := int64(k) * blockLength
					spread(out[i].Usage, &u, span{at, at + blockLength, step})
				}
			}
		}
		w.all = nil
	}
	for _, h := range w.all {
		l.m.Lock()
		ref, stays := l.log.hosts.list[h], l.log.staysOn(h, from, to)
		l.m.Unlock()
		host, known := l.Capacity(ctx, ref)
		if !known {
			continue
		}
		l.sweep(&host, stays, func(st *stay, begin, end int64, u *Usage) {
			for _, targets := range [][]int{w.vms[st.vm], w.hosts[st.host], w.pools[st.pool]} {
				for _, i := range targets {
					spread(out[i].Usage, u, span{begin - from, end - from, step})
				}
			}
		})
	}
	for i := range out {
		own := Usage{Used: float64(out[i].Capacity.ownCPU), Consumed: float64(out[i].Capacity.ownMemory)}
		for k := range out[i].Usage {
			out[i].Usage[k].add(&own, 1)
		}
	}
	return out
}

// span is a span of time with the length of its intervals, in milliseconds.
type span struct{ from, to, step int64 }

// spread adds a usage during a span to the means of the intervals that it overlaps.
func spread(means []Usage, u *Usage, s span) {
	for k := s.from / s.step; k*s.step < s.to; k++ {
		part := min(s.to, (k+1)*s.step) - max(s.from, k*s.step)
		means[k].add(u, float64(part)/float64(s.step))
	}
}

// sweep computes the usage of the VMs on a host for pieces of time without changes.
func (l *Load) sweep(host *Host, stays []stay, piece func(st *stay, from, to int64, u *Usage)) {
	var here []*stay
	var claims []claim
	next := 0
	at := int64(0)
	for {
		here = slices.DeleteFunc(here, func(st *stay) bool { return st.to <= at })
		if len(here) == 0 {
			if next == len(stays) {
				return
			}
			at = max(at, stays[next].from)
		}
		for next < len(stays) && stays[next].from <= at {
			here, next = append(here, &stays[next]), next+1
		}
		until := here[0].to
		if next < len(stays) {
			until = min(until, stays[next].from)
		}
		claims = claims[:0]
		for _, st := range here {
			s, change := l.at(st, at)
			until = min(until, st.to, change)
			claims = append(claims, claimOf(st, s, host.core()))
		}
		d := divide(host, claims)
		for i := range claims {
			u := d.of(&claims[i])
			piece(claims[i].stay, at, until, &u)
		}
		at = until
	}
}

// want is the objects to scan for a query. It sets the capacity of hosts and clusters.
func (l *Load) want(ctx *simulator.Context, in span, of []reference, out []Series) *wanted {
	w := &wanted{vms: map[int32][]int{}, hosts: map[int32][]int{}, pools: map[int32][]int{}}
	hosts := map[int32]bool{}
	add := func(i int, ref reference) {
		l.m.Lock()
		h := l.log.hosts.of(ref)
		l.m.Unlock()
		hosts[h] = true
		w.hosts[h] = append(w.hosts[h], i)
		c, _ := l.Capacity(ctx, ref)
		out[i].Capacity.plus(&c)
	}
	for i, ref := range of {
		switch o := l.reg.Get(ref).(type) {
		case *simulator.VirtualMachine:
			l.m.Lock()
			if vm, known := l.log.vms.number[ref]; known {
				w.vms[vm] = append(w.vms[vm], i)
				l.log.stays(vm, in.from, in.to, func(st stay) { hosts[st.host] = true })
			}
			l.m.Unlock()
		case *simulator.HostSystem:
			add(i, ref)
		case *simulator.ClusterComputeResource:
			var refs []reference
			ctx.WithLock(o, func() { refs = slices.Clone(o.Host) })
			for _, h := range refs {
				add(i, h)
			}
		case *simulator.ResourcePool, *simulator.VirtualApp:
			l.wantPool(i, ref, w, hosts)
		}
	}
	for h := range hosts {
		w.all = append(w.all, h)
	}
	slices.Sort(w.all)
	return w
}

// wantPool adds a pool and its descendants, and the hosts of its cluster.
func (l *Load) wantPool(i int, ref reference, w *wanted, hosts map[int32]bool) {
	l.m.Lock()
	defer l.m.Unlock()
	for p, pool := range l.log.pools.list {
		if l.below(pool, ref) {
			w.pools[int32(p)] = append(w.pools[int32(p)], i)
		}
	}
	for h := range l.log.on {
		hosts[int32(h)] = true
	}
}

// below reports whether a pool is another or below it.
func (l *Load) below(pool, top reference) bool {
	for steps := 0; steps < 64; steps++ {
		if pool == top {
			return true
		}
		e, ok := l.reg.Get(pool).(mo.Entity)
		if !ok || e.Entity().Parent == nil {
			return false
		}
		pool = *e.Entity().Parent
	}
	return false
}

func (h *Host) plus(o *Host) {
	if h.CPUs > 0 {
		h.MHz = (h.MHz*h.CPUs + o.MHz*o.CPUs) / max(1, h.CPUs+o.CPUs)
	} else {
		h.MHz = o.MHz
	}
	h.CPU, h.Memory, h.CPUs = h.CPU+o.CPU, h.Memory+o.Memory, h.CPUs+o.CPUs
	h.AllMemory, h.ownCPU, h.ownMemory = h.AllMemory+o.AllMemory, h.ownCPU+o.ownCPU, h.ownMemory+o.ownMemory
	h.connected = h.connected || o.connected
}
