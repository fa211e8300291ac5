package repair

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// ShouldRules moves VMs so that should-rules hold, if that violates no other rule and no work
// is lost.
func ShouldRules(d *draft.Draft) {
	if d.Cluster.Settings.Level <= 1 {
		return
	}
	for i := range d.Cluster.Rules {
		rule := &d.Cluster.Rules[i]
		if rule.Must || rule.Disabled {
			continue
		}
		like := advice.For(advice.ShouldRule)
		like.Rule = cluster.RuleID(i)
		for range rule.VMs {
			v, broken := culprit(d, like.Rule, d.MayMove)
			if !broken {
				break
			}
			to := softest(d, v)
			if to == cluster.Nowhere {
				break
			}
			d.Move(d.Units.Alone(v), to, like)
		}
	}
}

// softest is the host on which a VM violates fewer should-rules and no work is lost, the least
// loaded of several; else Nowhere.
func softest(d *draft.Draft, v cluster.VMID) cluster.HostID {
	from, alone := d.Layout.Host(v), d.Units.Alone(v)
	now, best := d.Layout.Broken(v, from), cluster.HostID(cluster.Nowhere)
	var least, lightest int64
	for to := range cluster.HostID(len(d.Hosts)) {
		if to == from || d.Layout.Obstacle(v, to).Check != cluster.Fine || d.Layout.Broken(v, to) >= now || d.Left(v, to) {
			continue
		}
		loss := -worth.Gain(d, alone, place.Step{VM: v, From: from, To: to})
		full := contention.Loads(d.Hosts[to].Demand.Plus(d.Demand(alone)), d.Hosts[to].Capacity).Max()
		if best == cluster.Nowhere || loss < least || loss == least && full < lightest {
			best, least, lightest = to, loss, full
		}
	}
	if least > 0 {
		return cluster.Nowhere
	}
	return best
}
