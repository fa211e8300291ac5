package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// shouldRules moves VMs so that rules which only should hold do, where that breaks
// no other and loses no work.
func (r *round) shouldRules() {
	if r.c.Settings.Level <= 1 {
		return
	}
	for i := range r.c.Rules {
		rule := &r.c.Rules[i]
		if rule.Must || rule.Disabled {
			continue
		}
		for range rule.VMs {
			v, broken := r.culprit(rule, r.mayMove)
			if !broken || !r.mendSoftly(v, cluster.RuleID(i)) {
				break
			}
		}
	}
}

// mendSoftly moves a VM to where least is lost, and of such hosts to the one that is
// then loaded least.
func (r *round) mendSoftly(v cluster.VMID, id cluster.RuleID) bool {
	from, asks := r.l.Host(v), r.x.Demand(v)
	now := r.l.Broken(v, from)
	best, found := place.Step{}, false
	var least, lightest int64
	for h := range r.c.Hosts {
		to := cluster.HostID(h)
		if to == from || r.l.Obstacle(v, to).Check != cluster.Fine || r.l.Broken(v, to) >= now || r.options.Left != nil && r.options.Left(v, to) {
			continue
		}
		s := place.Step{VM: v, From: from, To: to}
		loss, after, all := -r.gain(r.units.alone[v:v+1], s, asks), r.l.Demand(to).Plus(asks), r.x.Capacity(to)
		full := max(contention.Load(after.CPU, all.CPU), contention.Load(after.Memory, all.Memory))
		if !found || loss < least || loss == least && full < lightest {
			best, found, least, lightest = s, true, loss, full
		}
	}
	if !found || least > 0 {
		return false
	}
	r.move(best, advice.ShouldRule, id, advice.Value{})
	return true
}

// mayMove says whether a VM may move for less than what must be.
func (r *round) mayMove(v cluster.VMID) bool {
	h := r.l.Host(v)
	return h != cluster.Nowhere && !r.moved[v] && !r.c.VMs[v].Pinned && r.c.Hosts[h].Runs() &&
		(r.options.Cooling == nil || !r.options.Cooling(v))
}

// mayAllMove says so of all VMs of a unit.
func (r *round) mayAllMove(unit []cluster.VMID) bool {
	for _, v := range unit {
		if !r.mayMove(v) {
			return false
		}
	}
	return true
}
