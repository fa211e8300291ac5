package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// Judge says of a single step what forbids it, or else what it would do, bring and
// cost.
func Judge(l *cluster.Layout, x *cluster.Index, s place.Step) []string {
	r := newRound(l.Clone(), x, advice.Options{})
	c := r.c
	if moved(r.l, r.units.with(r.l, s.VM), s.To, nil).Check != cluster.Fine {
		return []string{r.obstacleWords(s)}
	}
	if s.From == cluster.Nowhere {
		return []string{"nothing forbids it: " + c.Hosts[s.To].Name + " can have it"}
	}
	unit := r.units.with(r.l, s.VM)
	asks := r.asks(unit)
	after := func(h cluster.HostID, d cluster.Resources) float64 {
		all := x.Capacity(h)
		return points(max(contention.Load(d.CPU, all.CPU), contention.Load(d.Memory, all.Memory)))
	}
	out := []string{fmt.Sprintf("%s would go from %.0f to %.0f per cent, %s from %.0f to %.0f",
		c.Hosts[s.From].Name, after(s.From, l.Demand(s.From)), after(s.From, l.Demand(s.From).Minus(asks)),
		c.Hosts[s.To].Name, after(s.To, l.Demand(s.To)), after(s.To, l.Demand(s.To).Plus(asks)))}
	if c.VMs[s.VM].Pinned {
		out = append(out, "it is pinned to its host")
	}
	v := r.value(s)
	s.VM = unit[0]
	r.barred[s] = r.strains(s)
	con := r.against(unit, s, r.gain(unit, s, asks))
	betters := r.betters(s)
	if con == nothing && betters && !r.relief.worth(s) {
		con = tooLittle
	}
	switch {
	case con != nothing:
		out = append(out, r.words(s, v, con))
	case !betters && r.byScore:
		out = append(out, "it would not raise the VM's score and the cluster's: "+r.scoreWords(s))
	case !betters:
		out = append(out, "it would not even out the loads of the two hosts, CPU and memory together")
	default:
		out = append(out, "nothing speaks against it: "+v.String())
	}
	return out
}

// betters says whether a step serves what its model looks for.
func (r *round) betters(s place.Step) bool {
	n := r.lane(s.From, s.To)
	return n.merit(s.VM) > 0
}
