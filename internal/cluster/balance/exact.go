package balance

import (
	"errors"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// mostExact is how many layouts an exact search looks at, at most.
const mostExact = 20_000_000

// ErrTooLarge says that a cluster has too many layouts to look at all of them.
var ErrTooLarge = errors.New("the cluster is too large for an exact search, which is for about ten VMs on a few hosts")

// Exact finds the layout that loses least work of all that break nothing, in MHz and as
// the model of the cluster counts it, and with as few moves as that takes; it says how far
// a plan is from it. Pinned VMs stay.
func Exact(l *cluster.Layout, x *cluster.Index) (lost int64, steps []place.Step, err error) {
	s := &search{
		round: newRound(l.Clone(), x, advice.Options{}), start: make([]cluster.HostID, len(l.Cluster().VMs)),
	}
	for v := range s.c.VMs {
		id := cluster.VMID(v)
		s.start[v] = l.Host(id)
		if s.start[v] != cluster.Nowhere && !s.c.VMs[v].Pinned {
			s.free = append(s.free, id)
		}
	}
	// Large VMs first: they bound the rest early.
	slices.SortFunc(s.free, func(a, b cluster.VMID) int {
		if x.Demand(a).CPU != x.Demand(b).CPU {
			return int(min(1, max(-1, x.Demand(b).CPU-x.Demand(a).CPU)))
		}
		return int(a - b)
	})
	for _, v := range s.free {
		s.l.Move(v, cluster.Nowhere)
	}
	s.best, s.moves = -1, len(s.free)+1
	s.deepen(0, 0)
	if s.looked > mostExact {
		return 0, nil, ErrTooLarge
	}
	if s.best < 0 {
		return 0, nil, errors.New("no layout satisfies all hard constraints")
	}
	for i, v := range s.free {
		if s.found[i] != s.start[v] {
			steps = append(steps, place.Step{VM: v, From: s.start[v], To: s.found[i]})
		}
	}
	return s.best, steps, nil
}

// search is a depth-first search with a bound: what the VMs that are placed lose
// already only grows.
type search struct {
	*round // of whose layout the burdens are not kept up to date
	free   []cluster.VMID
	start  []cluster.HostID
	best   int64
	moves  int
	found  []cluster.HostID
	looked int
}

func (s *search) deepen(i, moves int) {
	s.looked++
	if s.looked > mostExact {
		return
	}
	lost := s.lost()
	if s.best >= 0 && (lost > s.best || lost == s.best && moves >= s.moves) {
		return
	}
	if i == len(s.free) {
		s.best, s.moves = lost, moves
		s.found = s.found[:0]
		for _, v := range s.free {
			s.found = append(s.found, s.l.Host(v))
		}
		return
	}
	v := s.free[i]
	try := func(h cluster.HostID, more int) {
		if s.l.Obstacle(v, h).Check == cluster.Fine {
			s.l.Move(v, h)
			s.deepen(i+1, moves+more)
			s.l.Move(v, cluster.Nowhere)
		}
	}
	try(s.start[v], 0)
	for h := range s.c.Hosts {
		if id := cluster.HostID(h); id != s.start[v] {
			try(id, 1)
		}
	}
}

func (s *search) lost() (sum int64) {
	if s.byScore {
		s.burden = burdens(s.l, s.x)
	}
	for h := range s.c.Hosts {
		id := cluster.HostID(h)
		if s.byScore {
			sum += s.wastes(id)
		} else {
			sum += contention.Lost(s.l.Demand(id), s.x.Capacity(id), s.model.Limit)
		}
	}
	return sum
}
