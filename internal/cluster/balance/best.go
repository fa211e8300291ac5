package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// candidate is a step with what it brings.
type candidate struct {
	place.Step
	Value Value
	merit int64
	con   con
}

// better orders candidates.
func (c *candidate) better(o *candidate) bool {
	return c.merit > o.merit || c.merit == o.merit && before(c.Step, o.Step)
}

// before orders steps that are equally good, so that a plan is the same in whatever
// order machines are listed.
func before(a, b place.Step) bool {
	if a.VM != b.VM {
		return a.VM < b.VM
	}
	return a.To < b.To
}

// best finds the move that betters the layout most of those that are worth it.
func (r *round) best() (best candidate, found bool) {
	for len(r.rows) > 0 {
		h := int(r.heads.winner[1])
		merit := r.top(h)
		if merit == 0 {
			return best, false
		}
		w := r.rows[h]
		from, to := cluster.HostID(h), cluster.HostID(w.first)
		if !w.stale[to] {
			s := place.Step{VM: w.vm[to], From: from, To: to}
			return candidate{Step: s, Value: r.value(s), merit: merit}, true
		}
		r.refresh(from, to)
		r.heads.again(r, h)
	}
	return best, false
}

// bestThatSpares is the best move after which the cluster survives the failures that it
// should as well as before. That takes long to find out, so that only the best are asked.
func (r *round) bestThatSpares() (best candidate, found bool) {
	for {
		if best, found = r.best(); !found {
			return best, false
		}
		why := r.place.Strains(best.Step)
		if why == "" {
			return best, true
		}
		r.barred[best.Step] = why
		r.refresh(best.From, best.To)
		r.heads.again(r, int(best.From))
	}
}
