// Package search finds the best moves for load balance, each time off the host with the best
// move of all.
package search

import (
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/place"
)

// Search holds the best move from each host to each other host.
type Search struct {
	d      *draft.Draft
	relief *relief.Relief
	kinds  kinds // of targets, by capacity
	market market
	table  table
}

// New is a search without moves; Renew finds them.
func New(d *draft.Draft, f *relief.Relief) *Search {
	return &Search{d: d, relief: f, kinds: newKinds(d), market: newMarket(d, f), table: table{d: d, rows: make([]*row, len(d.Hosts))}}
}

// Renew finds all moves again.
func (s *Search) Renew() {
	for h := range s.table.rows {
		s.renew(cluster.HostID(h))
	}
	s.table.sort()
}

// renew finds the moves off a host again, if they can be worth it.
func (s *Search) renew(from cluster.HostID) {
	if s.relief.Hopeless(from) {
		s.table.rows[from] = nil
		return
	}
	s.fill(from)
}

// fill finds the moves off a host.
func (s *Search) fill(from cluster.HostID) {
	w := s.table.rows[from]
	if w == nil {
		w = newRow(len(s.d.Hosts))
	}
	if w.offers = s.market.offers(from, w.offers); len(w.offers) == 0 {
		s.table.rows[from] = nil
		return
	}
	s.table.rows[from] = w
	w.memory, w.dirty = math.MaxInt64, 0
	for i := range w.offers {
		w.memory, w.dirty = min(w.memory, w.offers[i].Memory), max(w.dirty, w.offers[i].Dirty)
	}
	w.ceilings.clear(len(s.kinds.list), s.d.Lightest.Memory)
	for to := range s.d.Hosts {
		s.expect(from, cluster.HostID(to))
	}
}

// expect bounds a pair, to be refreshed once it would be the best, or else refreshes it now.
func (s *Search) expect(from, to cluster.HostID) {
	if most, known := s.ceiling(from, to); known {
		s.table.rows[from].expect(int(to), most)
	} else {
		s.refresh(from, to)
	}
}

// refresh finds the best move of a pair.
func (s *Search) refresh(from, to cluster.HostID) {
	v, merit := s.between(from, to)
	s.table.rows[from].set(int(to), v, merit)
}

// between finds the best move from one host to another without an objection; merit 0 if there
// is none.
func (s *Search) between(from, to cluster.HostID) (best cluster.VMID, most int64) {
	d := s.d
	if !d.MayGain(from, to) {
		return best, most
	}
	lane, in, offers := worth.NewLane(d, from, to), d.Clock.Window(from, to), s.table.rows[from].offers
	for i := range offers {
		o := &offers[i]
		if o.Merit < most {
			break // no target raises the merit of this offer or a later one
		}
		if in.Misses(o.Memory, o.Dirty) || !d.Index.Allowed(o.VM, to) {
			continue
		}
		merit, gain := lane.Take(o)
		if merit <= 0 || gain < o.Need || merit < most || merit == most && o.VM > best {
			continue
		}
		if worth.Against(d, d.Units.With(d.Layout, o.VM), place.Step{VM: o.VM, From: from, To: to}, gain) == worth.Nothing {
			best, most = o.VM, merit
		}
	}
	return best, most
}

// Best is the host with the best move that is worth it and keeps the spare capacity for host
// failures. The latter check is expensive, so it is made for the best moves only.
func (s *Search) Best() (from cluster.HostID, found bool) {
	t := &s.table
	if len(t.rows) == 0 {
		return from, false
	}
	for {
		if from = s.first(); t.top(from) == 0 {
			return from, false
		}
		if s.relief.Hopeless(from) {
			t.drop(from)
			continue
		}
		step := t.first(from)
		if !s.d.Strains(step) {
			return from, true
		}
		s.refresh(from, step.To)
		t.again(from)
	}
}

// first is the host whose first move is the best of all, if there is any.
func (s *Search) first() cluster.HostID {
	t := &s.table
	h := t.best()
	for w := t.rows[h]; t.top(h) > 0 && w.stale[w.first]; w = t.rows[h] {
		for next := t.second(h); w.stale[w.first] && w.merit[w.first] > next; w.sort() {
			s.refresh(h, cluster.HostID(w.first))
		}
		t.again(h)
		h = t.best()
	}
	return h
}

// Changed updates all that the moves from an index on may have changed: pairs from and to
// their hosts. For VMs that share a rule with a moved one, all pairs are affected. Moves to a
// host whose load only rose are refreshed once they would be the best.
func (s *Search) Changed(begin int) {
	hosts := advice.Touched(s.d.Plan.Moves[begin:])
	worse := make([]bool, len(hosts))
	for i, h := range hosts {
		worse[i] = s.onlyWorse(h, begin)
	}
	for h, w := range s.table.rows {
		switch from := cluster.HostID(h); {
		case slices.Contains(hosts, from):
			s.renew(from)
		case w != nil:
			for i, to := range hosts {
				if worse[i] {
					w.stale[to] = true
				} else {
					s.expect(from, to)
				}
			}
		}
	}
	s.table.sort()
}

// onlyWorse reports whether no VM gains more by a move to a host than before the moves from an
// index on. It must have gained VMs without rules, lost none, and delay VMs by its cores
// alone. At level 5 imbalance is rounded to MHz, and a gain may rise by that.
func (s *Search) onlyWorse(h cluster.HostID, begin int) bool {
	if o := &s.d.Hosts[h]; o.Reclaims || s.d.Model.Even || o.LinkIsFull() {
		return false
	}
	for _, m := range s.d.Plan.Moves[begin:] {
		if m.From == h || m.To == h && len(s.d.Index.Rules(m.VM)) > 0 {
			return false
		}
	}
	return true
}
