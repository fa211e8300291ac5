package balance

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// obstacleWords are what keeps a VM, or one that moves with it, from a host.
func (r *round) obstacleWords(s place.Step) string {
	unit := r.units.with(r.l, s.VM)
	from := r.l.Host(s.VM)
	for _, v := range unit {
		r.l.Move(v, cluster.Nowhere)
	}
	text := ""
	for _, v := range unit {
		if o := r.l.Obstacle(v, s.To); o.Check != cluster.Fine {
			if text = o.Text(r.c, s.To); v != s.VM {
				text = r.c.VMs[v].Name + ", which must stay with it: " + text
			}
			break
		}
		r.l.Move(v, s.To)
	}
	for _, v := range unit {
		r.l.Move(v, from)
	}
	return text
}

// softRuleWords name a should-rule that a move would violate and that holds now.
func (r *round) softRuleWords(s place.Step) string {
	unit := r.units.with(r.l, s.VM)
	violated := func() (rules []cluster.RuleID) {
		for _, v := range unit {
			rules = slices.AppendSeq(rules, r.l.BrokenRules(v, r.l.Host(v)))
		}
		return rules
	}
	now, from := violated(), r.l.Host(s.VM)
	for _, v := range unit {
		r.l.Move(v, s.To)
	}
	then := violated()
	for _, v := range unit {
		r.l.Move(v, from)
	}
	for _, id := range then {
		if !slices.Contains(now, id) {
			return "it would violate the rule " + r.c.Rules[id].Name + ", which should hold"
		}
	}
	return fmt.Sprintf("it would violate %d should-rules, and violates %d now", len(then), len(now))
}

// noGainWords say why a move saves nothing: no host is slowed down, or the other one would
// be as much.
func (r *round) noGainWords(s place.Step) string {
	asks := r.asks(r.units.with(r.l, s.VM))
	cost := func(h cluster.HostID, d cluster.Resources) int64 { return r.model.Costs(h, d, r.burden[h]) }
	from, to := r.l.Demand(s.From), r.l.Demand(s.To)
	if cost(s.From, from) == 0 && cost(s.To, to.Plus(asks)) == 0 {
		return "no VM would run better: neither host is so full that it slows its VMs down"
	}
	return fmt.Sprintf("it would save %d MHz on %s and lose %d MHz on %s", cost(s.From, from)-cost(s.From, from.Minus(asks)), r.c.Hosts[s.From].Name,
		cost(s.To, to.Plus(asks))-cost(s.To, to), r.c.Hosts[s.To].Name)
}
