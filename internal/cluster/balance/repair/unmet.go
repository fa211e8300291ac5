package repair

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/place"
)

// Soft reports whether a cluster has enabled should-rules.
func Soft(c *cluster.Cluster) bool {
	return slices.ContainsFunc(c.Rules, func(r cluster.Rule) bool { return !r.Must && !r.Disabled })
}

// Unmet lists the VMs that violate should-rules in a draft, and why they do not move.
func Unmet(d *draft.Draft) (list []advice.Unmet) {
	for i := range d.Cluster.Rules {
		rule, id := &d.Cluster.Rules[i], cluster.RuleID(i)
		if rule.Must || rule.Disabled {
			continue
		}
		for _, v := range rule.VMs {
			if h := d.Layout.Host(v); h != cluster.Nowhere && violates(d, v, h, id) {
				list = append(list, advice.Unmet{VM: v, Rule: id, Why: fixed(d, v), Hosts: objections(d, v, id)})
			}
		}
	}
	return list
}

func violates(d *draft.Draft, v cluster.VMID, h cluster.HostID, id cluster.RuleID) bool {
	for broken := range d.Layout.BrokenRules(v, h) {
		if broken == id {
			return true
		}
	}
	return false
}

// fixed is why a VM makes no optional move; empty if it may.
func fixed(d *draft.Draft, v cluster.VMID) string {
	h := d.Layout.Host(v)
	switch {
	case d.Cluster.Settings.Level <= 1:
		return "level 1 makes mandatory moves only"
	case d.Cluster.VMs[v].Pinned:
		return "DRS does not move this VM"
	case !d.Cluster.Hosts[h].Runs():
		return "its host does not run"
	case d.Options.Cooling != nil && d.Options.Cooling(v):
		return "it moved recently"
	case d.Moved(v):
		return "it moves in this round for another reason"
	}
	return ""
}

// objections are those to the hosts on which a VM would not violate a rule.
func objections(d *draft.Draft, v cluster.VMID, id cluster.RuleID) (list []advice.Objection) {
	for to := range cluster.HostID(len(d.Hosts)) {
		if to != d.Layout.Host(v) && !violates(d, v, to, id) {
			list = append(list, objection(d, v, to))
		}
	}
	return list
}

// objection is why ShouldRules does not move a VM to a host.
func objection(d *draft.Draft, v cluster.VMID, to cluster.HostID) advice.Objection {
	from := d.Layout.Host(v)
	made := advice.Objection{Host: to, Obstacle: d.Layout.Obstacle(v, to)}
	switch {
	case made.Obstacle.Check != cluster.Fine:
	case d.Layout.Broken(v, to) >= d.Layout.Broken(v, from):
		for id := range d.Layout.BrokenRules(v, to) {
			made.Why = fmt.Sprintf("the rule %s would be violated", d.Cluster.Rules[id].Name)
			break
		}
	case d.Left(v, to):
		made.Why = "it left this host recently"
	default:
		if loss := -worth.Gain(d, d.Units.Alone(v), place.Step{VM: v, From: from, To: to}); loss > 0 {
			made.Loss, made.Why = loss, fmt.Sprintf("VMs would lose %d MHz of their demand", loss)
		}
	}
	return made
}
