package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// pair is the best move from one host to another.
type pair struct {
	vm    cluster.VMID
	merit int64 // 0 where there is none
	raise int64 // of a machine's score, the most, whether its move is worth it or not
}

// row is the best moves from one host to each other, as far as they are known. What is
// known of a pair whose source became emptier or whose target fuller since is stale: it is
// the most that there can be, and looked at again only when it comes first. A row takes 17
// bytes for a host, and only hosts that machines may leave have one.
type row struct {
	merit []int64 // by target
	vm    []cluster.VMID
	raise []int32
	stale []bool

	known bool // what is not is found when it is asked for, all of it
	open  bool // which targets come first is to be found again
	first int  // the target whose move comes first
	rise  int  // the target with the highest raise
}

// newRow knows nothing.
func newRow(hosts int, byScore bool) *row {
	w := &row{merit: make([]int64, hosts), vm: make([]cluster.VMID, hosts), stale: make([]bool, hosts)}
	if byScore {
		w.raise = make([]int32, hosts)
	}
	return w
}

// precedes orders the pairs of a row by what their moves bring. Of equal ones those come
// first that are stale, since it is to be seen what they are.
func (w *row) precedes(a, b int) bool {
	switch {
	case w.merit[a] != w.merit[b]:
		return w.merit[a] > w.merit[b]
	case w.stale[a] != w.stale[b]:
		return w.stale[a]
	case w.vm[a] != w.vm[b]:
		return w.vm[a] < w.vm[b]
	}
	return a < b
}

// set notes what a pair is now.
func (w *row) set(to int, p pair) {
	lower := p.merit < w.merit[to] || w.stale[to] || p.vm > w.vm[to]
	w.merit[to], w.vm[to], w.stale[to] = p.merit, p.vm, false
	switch {
	case to == w.first:
		w.open = w.open || lower
	case w.precedes(to, w.first):
		w.first = to
	}
	if w.raise == nil {
		return
	}
	lower = p.raise < int64(w.raise[to])
	w.raise[to] = int32(p.raise)
	switch {
	case to == w.rise:
		w.open = w.open || lower
	case w.raise[to] > w.raise[w.rise]:
		w.rise = to
	}
}

// doubt makes a pair stale.
func (w *row) doubt(to int) {
	w.stale[to] = true
	if w.precedes(to, w.first) {
		w.first = to
	}
}

// sort finds the targets that come first.
func (w *row) sort() {
	w.open, w.first, w.rise = false, 0, 0
	for to, m := range w.merit {
		if m >= w.merit[w.first] && w.precedes(to, w.first) {
			w.first = to
		}
	}
	for to, raise := range w.raise {
		if raise > w.raise[w.rise] {
			w.rise = to
		}
	}
}

// row is that of a host, with its first targets; nil where machines have no reason to
// leave it.
func (r *round) row(from int) *row {
	if !r.source(from) {
		return nil
	}
	w := r.rows[from]
	if w == nil {
		w = newRow(len(r.c.Hosts), r.byScore)
		r.rows[from] = w
	}
	if !w.known {
		w.known, w.open = true, true
		for to := range r.c.Hosts {
			w.set(to, r.between(cluster.HostID(from), cluster.HostID(to)))
		}
	}
	if w.open {
		w.sort()
	}
	return w
}

// refresh looks at a pair again.
func (r *round) refresh(from, to int) {
	r.rows[from].set(to, r.between(cluster.HostID(from), cluster.HostID(to)))
}

// best finds the move that betters the layout most of those that are worth it.
func (r *round) best() (best candidate, found bool) {
	for {
		stale := false
		found = false
		for h := range r.c.Hosts {
			w := r.row(h)
			if w == nil || w.merit[w.first] == 0 {
				continue
			}
			c := candidate{Step: place.Step{VM: w.vm[w.first], From: cluster.HostID(h), To: cluster.HostID(w.first)}, merit: w.merit[w.first]}
			switch {
			case !found || c.merit > best.merit, c.merit == best.merit && !stale && (w.stale[w.first] || c.better(&best)):
				best, found, stale = c, true, w.stale[w.first]
			}
		}
		if !found {
			return best, false
		}
		if !stale {
			best.Value = r.value(best.Step)
			return best, true
		}
		r.refresh(int(best.From), int(best.To))
	}
}

// mostRaise is by how much the score of some machine could rise; where that is more than
// few it may be any such rise.
func (r *round) mostRaise(few int64) int64 {
	for {
		most, from, stale := int64(-1), 0, false
		for h := range r.c.Hosts {
			w := r.row(h)
			if w == nil {
				continue
			}
			raise, doubted := int64(w.raise[w.rise]), w.stale[w.rise]
			if raise > few && !doubted {
				return raise
			}
			if raise > most {
				most, from, stale = raise, h, doubted
			}
		}
		if most <= 0 || !stale {
			return max(0, most)
		}
		r.refresh(from, r.rows[from].rise)
	}
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
		r.refresh(int(best.From), int(best.To))
	}
}

// between finds the best move from one host to another.
func (r *round) between(from, to cluster.HostID) (best pair) {
	if from == to || !r.c.Hosts[to].Usable() || !r.worthALook(from, to) {
		return best
	}
	n := r.lane(from, to)
	for _, v := range r.l.On(from) {
		merit, raise := n.merit(v)
		good := merit > 0 && (merit > best.merit || merit == best.merit && v < best.vm)
		if !good && raise <= best.raise || !r.mayMove(v) {
			continue
		}
		s := place.Step{VM: v, From: from, To: to}
		if raise > best.raise && r.l.Obstacle(v, to).Check == cluster.Fine {
			best.raise = raise
		}
		if !good {
			continue
		}
		if _, con := r.against(s, merit); con == nothing {
			best.vm, best.merit = v, merit
		}
	}
	return best
}

// changed notes what a move made untrue: what leads to the host that has become emptier and
// away from the one that has become fuller, and all of the hosts whose machines share a rule
// with it. What leads away from the one and to the other is stale.
func (r *round) changed(m place.Step) {
	r.outlook(m.From)
	r.outlook(m.To)
	r.mean = r.means()
	again := []cluster.HostID{m.From}
	if w := r.rows[m.From]; w != nil && w.known {
		for to := range w.stale {
			w.stale[to] = true
		}
	}
	r.forget(m.To)
	for _, id := range r.x.Rules(m.VM) {
		for _, v := range r.c.Rules[id].VMs {
			if h := r.l.Host(v); h != cluster.Nowhere {
				r.forget(h)
				again = append(again, h)
			}
		}
	}
	for h, w := range r.rows {
		switch {
		case w == nil || !w.known:
		case !r.source(h):
			w.known = false
		default:
			w.doubt(int(m.To))
			for _, to := range again {
				r.refresh(h, int(to))
			}
		}
	}
}

// forget has all that leads away from a host be found anew.
func (r *round) forget(from cluster.HostID) {
	if w := r.rows[from]; w != nil {
		w.known = false
	}
}
