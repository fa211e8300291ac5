package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/refusal"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/search"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// Judge returns the objection to a single step, or else its effect, benefit and cost.
func Judge(l *cluster.Layout, x *cluster.Index, s place.Step) []string {
	d := draft.New(l.Clone(), x, advice.Options{})
	vms := d.Units.With(d.Layout, s.VM)
	if !unit.Fits(d.Layout, vms, s.To) {
		return []string{refusal.Obstacle(d, s)}
	}
	if s.From == cluster.Nowhere {
		return []string{"no objection: " + d.Cluster.Hosts[s.To].Name + " has room for it"}
	}
	out := []string{loads(d, s, d.Demand(vms))}
	if d.Cluster.VMs[s.VM].Pinned {
		return append(out, "it is pinned to its host")
	}
	o := advice.Refused{Step: s, Value: worth.Value(d, s)}
	s.VM = vms[0]
	d.Strains(s)
	f, n := relief.New(d), worth.NewLane(d, s.From, s.To)
	against, betters := worth.Against(d, vms, s, worth.Gain(d, vms, s)), n.Merit(s.VM) > 0
	if against == worth.Nothing && betters && !search.New(d, f).Worthwhile(s) {
		against = worth.TooLittle
	}
	switch {
	case against != worth.Nothing:
		o.Step = s
		return append(out, refusal.Words(d, f, o, against))
	case !betters && d.Model.ByScore:
		return append(out, "it would not raise the VM's score and the cluster's: "+refusal.Scores(d, s))
	case !betters:
		return append(out, "it would not reduce the imbalance of the two hosts in CPU and memory together")
	}
	return append(out, "no objection: "+o.Value.String())
}

// loads describes the effect of a step on the loads of both hosts.
func loads(d *draft.Draft, s place.Step, asks cluster.Resources) string {
	from, to := &d.Hosts[s.From], &d.Hosts[s.To]
	full := func(h *draft.Host, demand cluster.Resources) float64 {
		return advice.Points(contention.Loads(demand, h.Capacity).Max())
	}
	return fmt.Sprintf("%s would go from %.0f %% to %.0f %%, %s from %.0f %% to %.0f %%",
		d.Cluster.Hosts[s.From].Name, full(from, from.Demand), full(from, from.Demand.Minus(asks)),
		d.Cluster.Hosts[s.To].Name, full(to, to.Demand), full(to, to.Demand.Plus(asks)))
}
