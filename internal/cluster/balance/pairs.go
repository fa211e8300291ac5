package balance

import (
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// row is the best moves from one host to each other, or bounds of them. It takes 13 bytes for
// a target, and only hosts with VMs to offer have one.
type row struct {
	offers   []offer
	ceilings ceilings
	memory   int64   // the least that an offer has
	dirty    int64   // the most that one writes to it in a second
	merit    []int64 // by target: of the best move, 0 where there is none
	vm       []cluster.VMID
	stale    []bool // the merit is only a bound

	first int   // the target whose move comes first
	heads []int // and of each block of targets
	open  []bool
	any   bool // some block is open: its first is to be found again
}

// block is how many targets are compared again when the first of them changes.
const block = 64

// newRow knows nothing.
func newRow(hosts int) *row {
	blocks := (hosts + block - 1) / block
	w := &row{
		merit: make([]int64, hosts), vm: make([]cluster.VMID, hosts), stale: make([]bool, hosts),
		heads: make([]int, blocks), open: make([]bool, blocks),
	}
	for i := range w.heads {
		w.heads[i] = i * block
	}
	return w
}

// precedes orders targets by what their moves bring.
func (w *row) precedes(a, b int) bool {
	switch {
	case w.merit[a] != w.merit[b]:
		return w.merit[a] > w.merit[b]
	case w.vm[a] != w.vm[b]:
		return w.vm[a] < w.vm[b]
	}
	return a < b
}

// set notes the best move to a target.
func (w *row) set(to int, v cluster.VMID, merit int64) {
	w.merit[to], w.vm[to], w.stale[to] = merit, v, false
	switch i := to / block; {
	case to == w.heads[i]:
		w.open[i], w.any = true, true
	case !w.open[i] && w.precedes(to, w.heads[i]):
		w.heads[i] = to
		if !w.any && w.precedes(to, w.first) {
			w.first = to
		}
	}
}

// expect notes a bound of the moves to a target, which comes before moves of the same merit.
func (w *row) expect(to int, most int64) {
	w.set(to, cluster.Nowhere, most)
	w.stale[to] = most > 0
}

// sort finds the target that comes first, where that is not known.
func (w *row) sort() {
	if !w.any {
		return
	}
	w.any = false
	for i, open := range w.open {
		if !open {
			continue
		}
		w.open[i] = false
		begin := i * block
		first := begin
		for k, m := range w.merit[begin:min(begin+block, len(w.merit))] {
			if m >= w.merit[first] && w.precedes(begin+k, first) {
				first = begin + k
			}
		}
		w.heads[i] = first
	}
	w.first = w.heads[0]
	for _, head := range w.heads {
		if w.merit[head] >= w.merit[w.first] && w.precedes(head, w.first) {
			w.first = head
		}
	}
}

// renew finds all that leads away from a host anew, where that can be worth it.
func (r *round) renew(from cluster.HostID) {
	if r.relief.hopeless(from) {
		r.rows[from] = nil
		return
	}
	r.fill(from)
}

// renewAll does so for all hosts.
func (r *round) renewAll() {
	for h := range r.c.Hosts {
		r.renew(cluster.HostID(h))
	}
	r.heads.sort(r)
}

// fill finds all that leads away from a host.
func (r *round) fill(from cluster.HostID) {
	w := r.rows[from]
	if w == nil {
		w = newRow(len(r.c.Hosts))
	}
	if w.offers = r.offers(from, w.offers); len(w.offers) == 0 {
		r.rows[from] = nil
		return
	}
	r.rows[from] = w
	w.memory, w.dirty = math.MaxInt64, 0
	for i := range w.offers {
		w.memory, w.dirty = min(w.memory, w.offers[i].memory), max(w.dirty, w.offers[i].dirty)
	}
	w.ceilings.clear(len(r.kinds.list), r.relief.lightest.Memory)
	for to := range r.c.Hosts {
		r.expect(from, cluster.HostID(to))
	}
}

// expect bounds a pair that is looked at when it would be best, or else looks at it.
func (r *round) expect(from, to cluster.HostID) {
	if most, known := r.ceiling(from, to); known {
		r.rows[from].expect(int(to), most)
	} else {
		r.refresh(from, to)
	}
}

// settle looks at pairs of a row until the first is the best of all moves off its host.
func (r *round) settle(from cluster.HostID) *row {
	w := r.rows[from]
	for w.sort(); w.stale[w.first] && w.merit[w.first] > 0; w.sort() {
		r.refresh(from, cluster.HostID(w.first))
	}
	return w
}

// refresh looks at a pair again.
func (r *round) refresh(from, to cluster.HostID) {
	v, merit := r.between(from, to)
	r.rows[from].set(int(to), v, merit)
}

// between finds the best of the moves from one host to another that nothing speaks
// against; of no merit where there is none.
func (r *round) between(from, to cluster.HostID) (best cluster.VMID, most int64) {
	if from == to || !r.c.Hosts[to].Usable() || !r.worthALook(from, to) {
		return best, most
	}
	n, in := r.lane(from, to), r.window(from, to)
	for i := range r.rows[from].offers {
		o := &r.rows[from].offers[i]
		if o.merit < most {
			break // no target makes more of it, nor of those that follow
		}
		if in.misses(o.memory, o.dirty) || !r.x.Allowed(o.vm, to) {
			continue
		}
		merit, gain := n.takes(o)
		if merit <= 0 || gain < o.need || merit < most || merit == most && o.vm > best {
			continue
		}
		if r.against(r.units.with(r.l, o.vm), place.Step{VM: o.vm, From: from, To: to}, gain) == nothing {
			best, most = o.vm, merit
		}
	}
	return best, most
}

// changed looks again at what moves between hosts may have made another: what leads to and
// from each of them. For VMs that share a rule with one that moved, no other host is
// another than before. What leads to a host that only has more load than before is looked at
// once it would be best.
func (r *round) changed(moves []advice.Move) {
	r.mean = r.means()
	hosts := touched(moves)
	worse := make([]bool, len(hosts))
	for i, h := range hosts {
		worse[i] = r.onlyWorse(h, moves)
	}
	for h, w := range r.rows {
		switch from := cluster.HostID(h); {
		case slices.Contains(hosts, from):
			r.renew(from)
		case w != nil:
			for i, to := range hosts {
				if worse[i] {
					w.stale[to] = true
				} else {
					r.expect(from, to)
				}
			}
		}
	}
	r.heads.sort(r)
}

// onlyWorse says whether no VM can gain more by a move to a host than before some
// moves: it got VMs without rules and lost none, and nothing but its cores slows them
// down. At level 5 unevenness is rounded to MHz, and a gain may rise by that.
func (r *round) onlyWorse(h cluster.HostID, moves []advice.Move) bool {
	o := &r.outlooks[h]
	if o.reclaims || r.model.Even || contention.Load(r.burden[h].Link, r.c.Hosts[h].NIC) > contention.LinkLimit {
		return false
	}
	return !slices.ContainsFunc(moves, func(m advice.Move) bool { return m.From == h || m.To == h && len(r.x.Rules(m.VM)) > 0 })
}
