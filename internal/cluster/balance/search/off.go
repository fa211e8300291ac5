package search

import (
	"math"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/place"
)

// Off plans moves off a host, each time the best, until their total saving reaches the level's
// threshold. The first move is the first of the host's row. It plans only moves that end
// before the next round, and none if the threshold is out of reach or takes too many moves. A
// host without moves is closed.
func (s *Search) Off(from cluster.HostID, most int) {
	d := s.d
	begin, end, saved := len(d.Plan.Moves), -1, int64(0)
	for step, found := s.table.first(from), true; found; step, found = s.next(from) {
		vms, v := d.Units.With(d.Layout, step.VM), worth.Value(d, step)
		if end < 0 && (!d.Clock.InTime(vms, step) || len(d.Plan.Moves)-begin+len(vms) > most) {
			end = len(d.Plan.Moves)
		}
		saved += v.Gain / max(1, v.Stable)
		m := advice.For(d.Hosts[from].FairReason())
		m.Value, m.Note = v, d.Units.Note(d.Cluster, vms)
		d.Move(vms, step.To, m)
		if s.relief.Enough(from, saved) || saved+s.relief.Potential(from) < s.relief.Least(from) {
			break
		}
	}
	switch {
	case !s.relief.Enough(from, saved):
		s.relief.Short(from, saved)
		d.Undo(begin)
	case end >= 0:
		d.Undo(end)
	}
	if len(d.Plan.Moves) == begin {
		s.relief.Close(from)
		s.table.drop(from)
		return
	}
	s.Changed(begin)
}

// next is the best move off a host after the moves so far, whatever its duration, that keeps
// the spare capacity for host failures.
func (s *Search) next(from cluster.HostID) (place.Step, bool) {
	defer s.d.Clock.Pause()()
	for s.fill(from); s.hasMove(from); {
		step := s.table.first(from)
		if !s.d.Strains(step) {
			return step, true
		}
		s.refresh(from, step.To)
	}
	return place.Step{}, false
}

// hasMove refreshes pairs of a host until the first is the best of all moves off it. It
// reports whether there is one.
func (s *Search) hasMove(from cluster.HostID) bool {
	w := s.table.rows[from]
	if w == nil {
		return false
	}
	for w.sort(); w.stale[w.first] && w.merit[w.first] > 0; w.sort() {
		s.refresh(from, cluster.HostID(w.first))
	}
	return w.merit[w.first] > 0
}

// Worthwhile reports whether a move would be worth it together with others off its host; it
// need not be the best of them. No move may be planned yet.
func (s *Search) Worthwhile(step place.Step) bool {
	if v := worth.Value(s.d, step); !s.d.Cluster.Settings.CostBenefit || v.Gain >= s.relief.Least(step.From)*v.Stable {
		return true
	}
	s.d.Balancing()
	for !s.relief.Hopeless(step.From) {
		if s.fill(step.From); s.hasMove(step.From) {
			if s.Off(step.From, math.MaxInt); !s.relief.Closed(step.From) {
				return true
			}
		}
		if !s.relief.Shrink() {
			return false
		}
	}
	return false
}
