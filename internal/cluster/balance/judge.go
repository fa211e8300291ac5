package balance

import (
	"fmt"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// Judge says of a single step what forbids it, or else what it would do, bring and
// cost.
func Judge(l *cluster.Layout, x *cluster.Index, s place.Step) []string {
	r := newRound(l, x, Options{})
	c := r.c
	if o := l.Obstacle(s.VM, s.To); o.Check != cluster.Fine {
		return []string{o.Text(c, s.To)}
	}
	if s.From == cluster.Nowhere {
		return []string{"nothing forbids it: " + c.Hosts[s.To].Name + " can have it"}
	}
	asks := x.Demand(s.VM)
	after := func(h cluster.HostID, d cluster.Resources) float64 {
		all := x.Capacity(h)
		return points(max(load(d.CPU, all.CPU), load(d.Memory, all.Memory)))
	}
	out := []string{fmt.Sprintf("%s would go from %.0f to %.0f per cent, %s from %.0f to %.0f",
		c.Hosts[s.From].Name, after(s.From, l.Demand(s.From)), after(s.From, l.Demand(s.From).Minus(asks)),
		c.Hosts[s.To].Name, after(s.To, l.Demand(s.To)), after(s.To, l.Demand(s.To).Plus(asks)))}
	if c.VMs[s.VM].Pinned {
		out = append(out, "it is pinned to its host")
	}
	v := r.value(s)
	r.barred[s] = r.place.Strains(s)
	con := r.against(s, r.gain(s, asks))
	switch {
	case con != nothing:
		out = append(out, r.words(s, v, con))
	case !r.betters(s) && r.byScore:
		out = append(out, "it would not raise the machine's score and the cluster's: "+r.scoreWords(s))
	case !r.betters(s):
		out = append(out, "it would not bring the loads of the two hosts closer")
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
