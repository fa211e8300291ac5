package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
)

// candidate is a step with what it brings.
type candidate struct {
	place.Step
	Value advice.Value
	merit int64
	con   con
}

// better orders candidates.
func (c *candidate) better(o *candidate) bool {
	return c.merit > o.merit || c.merit == o.merit && before(c.Step, o.Step)
}

// before orders steps that are equally good, so that a plan is the same in whatever
// order VMs are listed.
func before(a, b place.Step) bool {
	if a.VM != b.VM {
		return a.VM < b.VM
	}
	return a.To < b.To
}

// best is the move that betters the layout most of those that are worth it.
func (r *round) best() (best candidate, found bool) {
	if len(r.rows) == 0 {
		return best, false
	}
	h := int(r.heads.winner[1])
	for w := r.rows[h]; r.top(h) > 0 && w.stale[w.first]; w = r.rows[h] {
		for next := r.heads.second(r, h); w.stale[w.first] && w.merit[w.first] > next; w.sort() {
			r.refresh(cluster.HostID(h), cluster.HostID(w.first))
		}
		r.heads.again(r, h)
		h = int(r.heads.winner[1])
	}
	if best.merit = r.top(h); best.merit == 0 {
		return best, false
	}
	w := r.rows[h]
	best.Step = place.Step{VM: w.vm[w.first], From: cluster.HostID(h), To: cluster.HostID(w.first)}
	best.Value = r.value(best.Step)
	return best, true
}

// bestThatSpares is the best move after which the cluster survives the failures that it
// should as well as before. That takes long to find out, so that only the best are asked.
func (r *round) bestThatSpares() (best candidate, found bool) {
	for {
		if best, found = r.best(); !found {
			return best, false
		}
		if r.relief.hopeless(best.From) {
			r.rows[best.From] = nil
			r.heads.again(r, int(best.From))
			continue
		}
		why := r.strains(best.Step)
		if why == "" {
			return best, true
		}
		r.barred[best.Step] = why
		r.refresh(best.From, best.To)
		r.heads.again(r, int(best.From))
	}
}

// strains is why a step would use up what is kept to spare; empty where it does not.
func (r *round) strains(s place.Step) string {
	unit := r.units.with(r.l, s.VM)
	if len(unit) == 1 {
		return r.place.Strains(s)
	}
	steps := make([]place.Step, len(unit))
	for i, v := range unit {
		steps[i] = place.Step{VM: v, From: s.From, To: s.To}
	}
	return r.place.Strains(steps...)
}
