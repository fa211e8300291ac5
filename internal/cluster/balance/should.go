package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// shouldRules moves machines so that rules which only should hold do, where that breaks
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
			v, broken := r.culprit(rule)
			if !broken || !r.mayMove(v) || !r.mendSoftly(v, cluster.RuleID(i)) {
				break
			}
		}
	}
}

func (r *round) mendSoftly(v cluster.VMID, id cluster.RuleID) bool {
	from := r.l.Host(v)
	now := r.l.Broken(v, from)
	best, found := place.Step{}, false
	least := int64(0)
	for h := range r.c.Hosts {
		to := cluster.HostID(h)
		if to == from || r.l.Obstacle(v, to).Check != cluster.Fine || r.l.Broken(v, to) >= now {
			continue
		}
		s := place.Step{VM: v, From: from, To: to}
		if loss := -r.gain(s, r.x.Demand(v)); !found || loss < least {
			best, found, least = s, true, loss
		}
	}
	if !found || least > 0 {
		return false
	}
	r.move(best, ShouldRule, id, Value{})
	return true
}

// mayMove says whether a machine may move for less than what must be.
func (r *round) mayMove(v cluster.VMID) bool {
	h := r.l.Host(v)
	return h != cluster.Nowhere && !r.moved[v] && !r.c.VMs[v].Pinned && r.c.Hosts[h].Runs() &&
		(r.options.Cooling == nil || !r.options.Cooling(v))
}
