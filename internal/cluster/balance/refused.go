package balance

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
)

// mostRefused is how many moves that were not made are told.
const mostRefused = 5

// notMade lists the moves that would bring most and are not made.
func (r *round) notMade() (list []candidate) {
	var offers []offer
	for _, b := range r.bidders() {
		if len(list) == mostRefused && b.most < list[mostRefused-1].merit {
			break
		}
		offers = r.gather(b.from, false, offers[:0])
		list = r.refusals(b.from, offers, list)
	}
	return list
}

// refusals adds the moves off a host to a short list where they would bring more.
func (r *round) refusals(from cluster.HostID, offers []offer, list []candidate) []candidate {
	most := int64(0)
	for i := range offers {
		most = max(most, offers[i].merit)
	}
	for t := range r.c.Hosts {
		to := cluster.HostID(t)
		if len(list) == mostRefused && most < list[mostRefused-1].merit {
			break
		}
		if from == to || !r.c.Hosts[t].Usable() || !r.worthALook(from, to) {
			continue
		}
		n := r.lane(from, to)
		for i := range offers {
			o := &offers[i]
			full := len(list) == mostRefused
			if full && o.merit < list[mostRefused-1].merit {
				continue // what it takes on the target only makes it less
			}
			c := candidate{Step: place.Step{VM: o.vm, From: from, To: to}}
			gain := int64(0)
			if c.merit, gain = n.takes(o); c.merit > 0 && (!full || c.better(&list[mostRefused-1])) {
				if c.con = r.against(r.units.with(r.l, o.vm), c.Step, gain); c.con == nothing {
					c.con = tooLittle
				}
				if c.con >= neverCopied {
					c.Value = r.value(c.Step)
				}
				list = keep(list, c)
			}
		}
	}
	return list
}

// bidder is a host that may have something to offer, and a bound of what that brings.
type bidder struct {
	from cluster.HostID
	most int64
}

// bidders are those hosts, the highest bound first: what follows need not be looked at once
// enough is found.
func (r *round) bidders() (list []bidder) {
	for h := range r.c.Hosts {
		if r.source(h) {
			list = append(list, bidder{cluster.HostID(h), r.mostOffered(cluster.HostID(h))})
		}
	}
	slices.SortStableFunc(list, func(a, b bidder) int { return cmp.Compare(b.most, a.most) })
	return list
}

// mostOffered bounds the merit of an offer of a host: that of a unit which asks for as much of
// each resource as any of its own.
func (r *round) mostOffered(h cluster.HostID) int64 {
	o := &r.outlooks[h]
	if r.byScore {
		return o.cost
	}
	var most cluster.Resources
	for _, v := range r.l.On(h) {
		asks := r.asks(r.units.with(r.l, v))
		most = cluster.Resources{CPU: max(most.CPU, asks.CPU), Memory: max(most.Memory, asks.Memory)}
	}
	least, _ := r.model.Demerit(h, o.demand.Minus(most))
	return o.demerit - least
}

// keep is a short list of the candidates that would bring most.
func keep(list []candidate, c candidate) []candidate {
	i := len(list)
	for i > 0 && (list[i-1].merit < c.merit || list[i-1].merit == c.merit && before(c.Step, list[i-1].Step)) {
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

// refuse says why nothing more is moved though the layout is not good enough.
func (r *round) refuse(refused []candidate) {
	for _, c := range refused {
		r.plan.Refused = append(r.plan.Refused, advice.Refused{Step: c.Step, Value: c.Value, Why: r.words(c.Step, c.Value, c.con)})
	}
	state, none := fmt.Sprintf("the cluster's score is %.1f of 100", points(r.score())), "no VM that may move would raise it"
	if !r.byScore {
		b := evenness(r.l, r.x)
		state, none = fmt.Sprintf("the hosts' loads lie %.1f points apart", points(max(b.Spread.CPU, b.Spread.Memory))), "no VM that may move off a host above the mean would even them out"
	}
	if len(refused) == 0 {
		r.plan.Quiet = state + ", and " + none
		return
	}
	verdict := "no move is worth it"
	if refused[0].con == tooLate {
		verdict = "there is no time for more moves"
	}
	r.plan.Quiet = fmt.Sprintf("%s, and %s; the best would be %s from %s to %s: %s", state, verdict,
		r.c.VMs[refused[0].VM].Name, r.c.Hosts[refused[0].From].Name, r.c.Hosts[refused[0].To].Name, r.plan.Refused[0].Why)
}
