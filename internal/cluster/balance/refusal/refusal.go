// Package refusal reports the best moves for load balance that a round rejects, with the
// objection to each.
package refusal

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/place"
)

// mostReported is the maximum number of rejected moves in a report.
const mostReported = 5

// Candidate is a move that is not made.
type Candidate struct {
	place.Step
	Merit   int64
	Value   advice.Value
	Against worth.Objection
}

// Better orders candidates, so that a plan does not depend on the order of VMs in the
// snapshot.
func (c *Candidate) Better(o *Candidate) bool {
	return cmp.Or(cmp.Compare(o.Merit, c.Merit), cmp.Compare(c.VM, o.VM), cmp.Compare(c.To, o.To)) < 0
}

// Judge finds the objection to a candidate with a gain, and its value if that decides.
func (c *Candidate) Judge(d *draft.Draft, gain int64) {
	if c.Against = worth.Against(d, d.Units.With(d.Layout, c.VM), c.Step, gain); c.Against == worth.Nothing {
		c.Against = worth.TooLittle
	}
	if c.Against >= worth.NeverCopied {
		c.Value = worth.Value(d, c.Step)
	}
}

// Shortlist is the best candidates.
type Shortlist []Candidate

// below reports whether a merit is too low for the list.
func (l Shortlist) below(merit int64) bool {
	return len(l) == mostReported && merit < l[mostReported-1].Merit
}

// Keep is the list with one more candidate, if it is among the best.
func (l Shortlist) Keep(c Candidate) Shortlist {
	i := len(l)
	for i > 0 && c.Better(&l[i-1]) {
		i--
	}
	if i >= mostReported {
		return l
	}
	l = slices.Insert(l, i, c)
	return l[:min(len(l), mostReported)]
}

// Best lists the best rejected moves.
func Best(d *draft.Draft) (list Shortlist) {
	var offers []worth.Offer
	for _, b := range bidders(d) {
		if list.below(b.most) {
			break
		}
		offers = worth.Offers(d, b.from, offers[:0], anyOffer)
		list = list.add(d, b.from, offers)
	}
	return list
}

func anyOffer([]cluster.VMID, *worth.Offer) bool { return true }

// add adds the moves off a host that belong to the list.
func (l Shortlist) add(d *draft.Draft, from cluster.HostID, offers []worth.Offer) Shortlist {
	most := int64(0)
	for i := range offers {
		most = max(most, offers[i].Merit)
	}
	for to := range cluster.HostID(len(d.Hosts)) {
		if l.below(most) {
			break
		}
		if !d.MayGain(from, to) {
			continue
		}
		n := worth.NewLane(d, from, to)
		for i := range offers {
			o := &offers[i]
			if l.below(o.Merit) {
				continue // the target only lowers the merit
			}
			c := Candidate{Step: place.Step{VM: o.VM, From: from, To: to}}
			gain := int64(0)
			if c.Merit, gain = n.Take(o); c.Merit > 0 && (len(l) < mostReported || c.Better(&l[mostReported-1])) {
				c.Judge(d, gain)
				l = l.Keep(c)
			}
		}
	}
	return l
}

// sourceHost is a host that may have moves for the list, with an upper bound of their merit.
type sourceHost struct {
	from cluster.HostID
	most int64
}

// bidders lists these hosts, highest bound first: once the list is full, the rest can be
// skipped.
func bidders(d *draft.Draft) (list []sourceHost) {
	for h := range cluster.HostID(len(d.Hosts)) {
		if d.Loaded(h) {
			list = append(list, sourceHost{h, bound(d, h)})
		}
	}
	slices.SortStableFunc(list, func(a, b sourceHost) int { return cmp.Compare(b.most, a.most) })
	return list
}

// bound bounds the merit of a host's offers by a unit that demands as much of each resource as
// any of them.
func bound(d *draft.Draft, h cluster.HostID) int64 {
	o := &d.Hosts[h]
	if d.Model.ByScore {
		return o.Cost
	}
	var most cluster.Resources
	for _, v := range d.Layout.On(h) {
		asks := d.Demand(d.Units.With(d.Layout, v))
		most = cluster.Resources{CPU: max(most.CPU, asks.CPU), Memory: max(most.Memory, asks.Memory)}
	}
	least, _ := d.Model.Demerit(h, o.Demand.Minus(most))
	return o.Demerit - least
}

// Report adds the best rejected moves to the plan, and returns why an imbalanced layout stays.
func Report(d *draft.Draft, f *relief.Relief, list Shortlist) (quiet string) {
	p := &d.Plan
	for _, c := range list {
		r := advice.Refused{Step: c.Step, Value: c.Value}
		r.Why = Words(d, f, r, c.Against)
		p.Refused = append(p.Refused, r)
	}
	state, none := fmt.Sprintf("the cluster's score is %.1f of 100", advice.Points(d.Score())), "no VM that may move would raise it"
	if !d.Model.ByScore {
		state, none = fmt.Sprintf("the hosts' loads differ by %.1f points", advice.Points(d.Evenness().Spread.Max())), "no VM that may leave a host above the mean would reduce the difference"
	}
	if len(list) == 0 {
		return state + ", and " + none
	}
	verdict := "no move is worth it"
	if list[0].Against == worth.TooLate {
		verdict = "there is no time for more moves"
	}
	return fmt.Sprintf("%s, and %s; the best would be %s from %s to %s: %s", state, verdict,
		d.Cluster.VMs[list[0].VM].Name, d.Cluster.Hosts[list[0].From].Name, d.Cluster.Hosts[list[0].To].Name, p.Refused[0].Why)
}
