package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// pairwise is the difference between two hosts, in millionths, that is worth a look at
// each level, and at level 1 none is.
//
// Source: Denneman, "Load balancing vSphere clusters with DRS" (6.5).
var pairwise = [6]int64{0, 0, 300_000, 200_000, 100_000, 50_000}

// target is the standard deviation up to which loads count as even: that at which the
// priority 6 - ceil(I / 0.1 * sqrt(hosts)) of a move falls below the level.
//
// Source: VMware, "Calculating the priority level of a DRS migration recommendation".
func target(level, hosts int) int64 {
	return int64(5-level) * 100_000 * 1000 / int64(max(1, root(uint64(hosts)*million)))
}

// mostRefused is how many moves that were not made are told.
const mostRefused = 5

// even moves machines one by one, each time the one that evens out most of those that are
// worth it, until the loads are even or none is.
func (r *round) even() {
	level := r.c.Settings.Level
	if level <= 1 {
		r.plan.Quiet = "level 1 moves machines only where they must"
		return
	}
	r.pairs = make([]pair, len(r.c.Hosts)*len(r.c.Hosts))
	budget := r.c.Settings.MostMoves
	if budget == 0 {
		budget = max(4, len(r.c.Hosts))
	}
	for moves := 0; ; moves++ {
		now := measure(r.l, r.x)
		if r.plan.Quiet = r.settled(now); r.plan.Quiet != "" {
			return
		}
		if moves == budget {
			r.plan.Quiet = fmt.Sprintf("%d moves are enough for one round", budget)
			return
		}
		best, found := r.best()
		if !found {
			r.refuse(r.notMade(), now)
			return
		}
		why := FairCPU
		if p := loads(r.l, r.x, best.Step.From); p.Memory > p.CPU {
			why = FairMemory
		}
		r.move(best.Step, why, cluster.Nowhere, best.Value)
		r.changed(best.Step)
	}
}

// settled is why loads are even enough; empty when they are not.
func (r *round) settled(b Balance) string {
	n, level := 0, r.c.Settings.Level
	for h := range r.c.Hosts {
		if r.c.Hosts[h].Usable() {
			n++
		}
	}
	t, p := target(level, n), pairwise[min(level, 5)]
	if max(b.Deviation.CPU, b.Deviation.Memory) > t || max(b.Spread.CPU, b.Spread.Memory) > p {
		return ""
	}
	return fmt.Sprintf("the hosts' loads lie %.1f points apart at most, with a deviation of %.1f: level %d lets them lie %.0f apart, with %.1f",
		points(max(b.Spread.CPU, b.Spread.Memory)), points(max(b.Deviation.CPU, b.Deviation.Memory)), level, points(p), points(t))
}

// points is a share in millionths as per cent.
func points(v int64) float64 { return float64(v) / 10_000 }

// candidate is a step with what it evens out.
type candidate struct {
	place.Step
	Value Value
	even  int64 // by how much the sum of squared loads falls, in millionths
	why   string
}

// pair is the best move from one host to another, as far as it is known.
type pair struct {
	known bool
	vm    cluster.VMID
	even  int64 // 0 where there is none
}

// best finds the move that evens out most of those that are worth it.
func (r *round) best() (best candidate, found bool) {
	mean := r.means()
	for h := range r.c.Hosts {
		from := cluster.HostID(h)
		p := loads(r.l, r.x, from)
		if !r.c.Hosts[h].Runs() || p.CPU <= mean.CPU && p.Memory <= mean.Memory {
			continue
		}
		for t := range r.c.Hosts {
			to := cluster.HostID(t)
			if from == to || !r.c.Hosts[t].Usable() {
				continue
			}
			b := &r.pairs[h*len(r.c.Hosts)+t]
			if !b.known {
				*b = r.between(from, to)
			}
			c := candidate{Step: place.Step{VM: b.vm, From: from, To: to}, even: b.even}
			if c.even > 0 && (!found || c.better(&best)) {
				best, found = c, true
			}
		}
	}
	if found {
		best.Value = r.value(best.Step)
	}
	return best, found
}

// better orders candidates.
func (c *candidate) better(o *candidate) bool {
	return c.even > o.even || c.even == o.even && before(c.Step, o.Step)
}

// between finds the best move from one host to another.
func (r *round) between(from, to cluster.HostID) pair {
	best := pair{known: true}
	for _, v := range r.l.On(from) {
		c := candidate{Step: place.Step{VM: v, From: from, To: to}}
		c.even = r.evens(c.Step)
		if c.even <= 0 || c.even < best.even || c.even == best.even && v > best.vm || !r.mayMove(v) {
			continue
		}
		if _, why := r.against(c.Step); why == "" {
			best.vm, best.even = v, c.even
		}
	}
	return best
}

// changed forgets what a move made untrue: all of its two hosts, and of those whose
// machines share a rule with it.
func (r *round) changed(m place.Step) {
	n := len(r.c.Hosts)
	forget := func(h cluster.HostID) {
		if h == cluster.Nowhere {
			return
		}
		for i := range n {
			r.pairs[int(h)*n+i].known, r.pairs[i*n+int(h)].known = false, false
		}
	}
	forget(m.From)
	forget(m.To)
	for _, id := range r.x.Rules(m.VM) {
		for _, v := range r.c.Rules[id].VMs {
			forget(r.l.Host(v))
		}
	}
}

// notMade lists the moves that would even out most and are not made.
func (r *round) notMade() (list []candidate) {
	mean := r.means()
	for h := range r.c.Hosts {
		from := cluster.HostID(h)
		p := loads(r.l, r.x, from)
		if !r.c.Hosts[h].Runs() || p.CPU <= mean.CPU && p.Memory <= mean.Memory {
			continue
		}
		for t := range r.c.Hosts {
			for _, v := range r.l.On(from) {
				c := candidate{Step: place.Step{VM: v, From: from, To: cluster.HostID(t)}}
				if t == h || !r.c.Hosts[t].Usable() || !r.mayMove(v) {
					continue
				}
				if c.even = r.evens(c.Step); c.even > 0 && (len(list) < mostRefused || c.better(&list[len(list)-1])) {
					c.Value, c.why = r.against(c.Step)
					list = keep(list, c)
				}
			}
		}
	}
	return list
}

// before orders steps that are equally good, so that a plan is the same in whatever
// order machines are listed.
func before(a, b place.Step) bool {
	if a.VM != b.VM {
		return a.VM < b.VM
	}
	return a.To < b.To
}

// keep is a short list of the candidates that would even out most.
func keep(list []candidate, c candidate) []candidate {
	i := len(list)
	for i > 0 && (list[i-1].even < c.even || list[i-1].even == c.even && before(c.Step, list[i-1].Step)) {
		i--
	}
	if i >= mostRefused {
		return list
	}
	list = append(list, candidate{})
	copy(list[i+1:], list[i:])
	list[i] = c
	return list[:min(len(list), mostRefused)]
}

func (r *round) means() Pair {
	var demand, all cluster.Resources
	for h := range r.c.Hosts {
		if id := cluster.HostID(h); r.c.Hosts[h].Usable() {
			demand, all = demand.Plus(r.l.Demand(id)), all.Plus(r.x.Capacity(id))
		}
	}
	return Pair{load(demand.CPU, all.CPU), load(demand.Memory, all.Memory)}
}

// evens is by how much a step lowers the sum of squared loads of both hosts.
func (r *round) evens(s place.Step) int64 {
	asks := r.x.Demand(s.VM)
	from, to := r.l.Demand(s.From), r.l.Demand(s.To)
	a, b := r.x.Capacity(s.From), r.x.Capacity(s.To)
	square := func(demand, capacity int64) int64 {
		v := min(load(demand, capacity), 2000*million/1000*1000)
		return v / 1000 * (v / 1000)
	}
	part := func(f, t, d, ca, cb int64) int64 {
		return square(f, ca) + square(t, cb) - square(f-d, ca) - square(t+d, cb)
	}
	return part(from.CPU, to.CPU, asks.CPU, a.CPU, b.CPU) + part(from.Memory, to.Memory, asks.Memory, a.Memory, b.Memory)
}

// against is what speaks against a move, empty for nothing, and what it is worth.
func (r *round) against(s place.Step) (v Value, why string) {
	if o := r.l.Obstacle(s.VM, s.To); o.Check != cluster.Fine {
		return v, o.Text(r.c, s.To)
	}
	if r.l.Broken(s.VM, s.To) > r.l.Broken(s.VM, s.From) {
		return v, "it would break a rule that should hold"
	}
	if r.options.Left != nil && r.options.Left(s.VM, s.To) {
		return v, "it left that host not long ago"
	}
	v = r.value(s)
	switch {
	case v.Copy == 0:
		return v, fmt.Sprintf("it writes %s/s to its memory, faster than it can be copied", cluster.MiB(r.c.VMs[s.VM].Demand.Dirty))
	case r.c.Settings.CostBenefit && v.Gain <= 0:
		return v, "no machine would run better: neither host is so full that it slows its machines down"
	case r.c.Settings.CostBenefit && v.Net() <= 0:
		return v, "it costs more than it brings: " + v.String()
	}
	return v, ""
}

// refuse says why nothing more is moved though the loads are uneven.
func (r *round) refuse(refused []candidate, now Balance) {
	for _, c := range refused {
		r.plan.Refused = append(r.plan.Refused, Refused{c.Step, c.Value, c.why})
	}
	apart := points(max(now.Spread.CPU, now.Spread.Memory))
	if len(refused) == 0 {
		r.plan.Quiet = fmt.Sprintf("the hosts' loads lie %.1f points apart, and no machine that may move would bring them closer", apart)
		return
	}
	r.plan.Quiet = fmt.Sprintf("the hosts' loads lie %.1f points apart, and no move is worth it; the best would be %s from %s to %s: %s", apart,
		r.c.VMs[refused[0].VM].Name, r.c.Hosts[refused[0].From].Name, r.c.Hosts[refused[0].To].Name, refused[0].why)
}
