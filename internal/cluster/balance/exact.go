package balance

import (
	"cmp"
	"errors"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// mostExact is the maximum number of layouts that an exact search tries.
const mostExact = 20_000_000

// ErrTooLarge is returned for a cluster with too many layouts for an exact search.
var ErrTooLarge = errors.New("the cluster is too large for an exact search, which can solve about ten VMs on a few hosts")

// Exact finds the valid layout with the least lost work in MHz under the cluster's model, with
// as few moves as possible. It shows how far a plan is from the optimum. Pinned VMs stay.
func Exact(l *cluster.Layout, x *cluster.Index) (lost int64, steps []place.Step, err error) {
	c := l.Cluster()
	s := &exact{c: c, x: x, l: l.Clone(), model: contention.NewModel(c, x), start: make([]cluster.HostID, len(c.VMs)), best: -1}
	for v := range cluster.VMID(len(c.VMs)) {
		s.start[v] = l.Host(v)
		if s.start[v] != cluster.Nowhere && !c.VMs[v].Pinned {
			s.free = append(s.free, v)
		}
	}
	// Large VMs first: they prune the search early.
	slices.SortFunc(s.free, func(a, b cluster.VMID) int {
		return cmp.Or(cmp.Compare(x.Demand(b).CPU, x.Demand(a).CPU), cmp.Compare(a, b))
	})
	for _, v := range s.free {
		s.l.Move(v, cluster.Nowhere)
	}
	s.moves = len(s.free) + 1
	s.deepen(0, 0)
	if s.tried > mostExact {
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

// exact is a branch-and-bound search, depth first: the losses of placed VMs only grow.
type exact struct {
	c     *cluster.Cluster
	x     *cluster.Index
	l     *cluster.Layout
	model *contention.Model
	free  []cluster.VMID
	start []cluster.HostID
	best  int64
	moves int
	found []cluster.HostID
	tried int
}

func (s *exact) deepen(i, moves int) {
	s.tried++
	if s.tried > mostExact {
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
	for h := range cluster.HostID(len(s.c.Hosts)) {
		if h != s.start[v] {
			try(h, 1)
		}
	}
}

func (s *exact) lost() (sum int64) {
	for h := range cluster.HostID(len(s.c.Hosts)) {
		switch demand := s.l.Demand(h); {
		case !s.model.ByScore:
			sum += contention.Lost(demand, s.x.Capacity(h), s.model.Limit)
		case !s.c.Hosts[h].Runs():
			sum += demand.CPU
		default:
			var burden contention.OtherDemand
			for _, v := range s.l.On(h) {
				burden = burden.Plus(contention.Bears(s.c, v, h, s.x.Demand(v).CPU), 1)
			}
			sum += s.model.Wasted(h, demand, burden)
		}
	}
	return sum
}
