package refusal

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/place"
)

// Words is the text of an objection to a move; empty for none.
func Words(d *draft.Draft, f *relief.Relief, o advice.Refused, against worth.Objection) string {
	s := o.Step
	switch against {
	case worth.Obstacle:
		return Obstacle(d, s)
	case worth.SoftRule:
		return softRule(d, s)
	case worth.Returns:
		return "it left that host recently"
	case worth.Strains:
		return d.Strain(s)
	case worth.NeverCopied:
		return fmt.Sprintf("it dirties memory at %s/s, faster than it can be copied", cluster.MiB(d.Cluster.VMs[s.VM].Demand.Dirty))
	case worth.NoGain:
		if d.Model.ByScore {
			return "the cluster's score would not rise: " + Scores(d, s)
		}
		return noGain(d, s)
	case worth.TooLittle:
		return f.Words(s, o.Value)
	case worth.TooDear:
		if d.Model.ByScore {
			return Scores(d, s) + ", which costs more than it gains: " + o.Value.String()
		}
		return "it costs more than it gains: " + o.Value.String()
	case worth.TooLate:
		return fmt.Sprintf("its migration and those before it would not end before the next round, in %d s", d.Clock.Interval())
	}
	return ""
}

// Obstacle explains why a VM, or one that moves with it, cannot run on a host.
func Obstacle(d *draft.Draft, s place.Step) string {
	v, o := unit.Obstacle(d.Layout, d.Units.With(d.Layout, s.VM), s.To)
	text := o.Text(d.Cluster, s.To)
	if v != s.VM {
		text = d.Cluster.VMs[v].Name + ", which must stay with it: " + text
	}
	return text
}

// softRule names a should-rule that holds now and that a move would violate.
func softRule(d *draft.Draft, s place.Step) string {
	vms := d.Units.With(d.Layout, s.VM)
	violated := func() (rules []cluster.RuleID) {
		for _, v := range vms {
			rules = slices.AppendSeq(rules, d.Layout.BrokenRules(v, d.Layout.Host(v)))
		}
		return rules
	}
	now, then := violated(), []cluster.RuleID(nil)
	unit.Try(d.Layout, vms, s.To, func() { then = violated() })
	for _, id := range then {
		if !slices.Contains(now, id) {
			return "it would violate the rule " + d.Cluster.Rules[id].Name + ", which should hold"
		}
	}
	return fmt.Sprintf("it would violate %d should-rules, and violates %d now", len(then), len(now))
}

// noGain explains why a move saves nothing: no host is overloaded, or the target would be as
// much.
func noGain(d *draft.Draft, s place.Step) string {
	asks := d.Demand(d.Units.With(d.Layout, s.VM))
	cost := func(h cluster.HostID, demand cluster.Resources) int64 {
		return d.Model.Costs(h, demand, d.Hosts[h].Burden)
	}
	from, to := &d.Hosts[s.From], &d.Hosts[s.To]
	then := cost(s.To, to.Demand.Plus(asks))
	if from.Cost == 0 && then == 0 {
		return "no VM would run better: neither host is loaded enough to delay its VMs"
	}
	return fmt.Sprintf("it would save %d MHz on %s and lose %d MHz on %s", from.Cost-cost(s.From, from.Demand.Minus(asks)), d.Cluster.Hosts[s.From].Name,
		then-to.Cost, d.Cluster.Hosts[s.To].Name)
}

// Scores is the effect of a step on scores, as text.
func Scores(d *draft.Draft, s place.Step) string {
	vms, to := d.Units.With(d.Layout, s.VM), &d.Hosts[s.To]
	lost := d.Model.HostLoss(s.To, to.Demand.Plus(d.Demand(vms)), to.Burden.Plus(d.Burden(vms, s.To), 1))
	return fmt.Sprintf("its score would go from %.1f to %.1f, and that of the VMs it joins from %.1f to %.1f",
		advice.Points(d.ScoreOf(vms, s.From, d.Hosts[s.From].Loss)), advice.Points(d.ScoreOf(vms, s.To, lost)), advice.Points(1_000_000-to.Loss), advice.Points(1_000_000-lost))
}
