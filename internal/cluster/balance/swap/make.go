package swap

import (
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/chain"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// worth reports whether an exchange by two direct migrations is worth its cost.
func (s *Search) worth(x *swap) bool {
	x.path = []draft.UnitMove{{Unit: x.out, From: x.from, To: x.to}, {Unit: x.in, From: x.to, To: x.from}}
	return s.pays(x)
}

// possible reports whether an exchange is allowed, and finds the order of its moves: directly,
// or through a free host.
func (s *Search) possible(x *swap, most int) bool {
	d := s.d
	if len(x.out)+len(x.in) > most || !d.Index.Allowed(x.in[0], x.from) || s.returns(x.path) || !s.fits(x) {
		return false
	}
	steps := s.steps(x)
	path, ok := chain.Order(d.Layout, s.gentler(x))
	if !ok {
		return false
	}
	x.path = path
	if x.size() > most || s.returns(path) || len(path) > 2 && !s.pays(x) {
		return false
	}
	return d.Placer.Strains(steps...) == ""
}

// returns reports whether a VM would return to a host that it left recently.
func (s *Search) returns(path []draft.UnitMove) bool {
	return slices.ContainsFunc(path, func(h draft.UnitMove) bool {
		return slices.ContainsFunc(h.Unit, func(v cluster.VMID) bool { return s.d.Left(v, h.To) })
	})
}

// fits reports whether both units may run on each other's host and no more should-rules are
// violated. The layout is afterwards as before, but for the order of VMs on their hosts.
func (s *Search) fits(x *swap) (fits bool) {
	l := s.d.Layout
	broken := func() int { return unit.Broken(l, x.out) + unit.Broken(l, x.in) }
	now := broken()
	unit.Put(l, x.in, cluster.Nowhere)
	unit.Try(l, x.out, x.to, func() {
		unit.Try(l, x.in, x.from, func() { fits = broken() <= now })
	})
	unit.Put(l, x.in, x.to)
	return fits
}

// gentler orders the two hops by the lower load of the host that holds both units in between.
func (s *Search) gentler(x *swap) []draft.UnitMove {
	out, in := x.path[0], x.path[1]
	full := func(h cluster.HostID, more []cluster.VMID) int64 {
		return contention.Loads(s.d.Hosts[h].Demand.Plus(s.d.Demand(more)), s.d.Hosts[h].Capacity).Max()
	}
	if full(x.from, x.in) < full(x.to, x.out) {
		return []draft.UnitMove{in, out}
	}
	return []draft.UnitMove{out, in}
}

// steps are the final hosts of the VMs of an exchange.
func (s *Search) steps(x *swap) (list []place.Step) {
	for _, h := range x.path {
		for _, v := range h.Unit {
			list = append(list, place.Step{VM: v, From: h.From, To: h.To})
		}
	}
	return list
}

// carry adds an exchange to the plan.
func (s *Search) carry(x *swap) {
	d := s.d
	m := advice.For(d.Hosts[x.from].FairReason())
	m.Value, m.Relieves = x.value, x.from
	for _, h := range x.path {
		if m.Partner = x.in[0]; h.Unit[0] == x.in[0] {
			m.Partner = x.out[0]
		}
		notes := []string{"it is exchanged with " + d.Cluster.VMs[m.Partner].Name, h.Note, d.Units.Note(d.Cluster, h.Unit)}
		m.Note = strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
		d.Move(h.Unit, h.To, m)
	}
}
