package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Verdict is the result of one host for one VM, or for VMs that must run together.
type Verdict struct {
	Host     cluster.HostID
	VM       cluster.VMID     // that the obstacle concerns
	Obstacle cluster.Obstacle // Fine if the host could run all of them
	Cost     Cost             // if it could
}

// before orders verdicts: feasible hosts first, by cost, then the others in the order of the
// cluster.
func (a *Verdict) before(b *Verdict) bool {
	fineA, fineB := a.Obstacle.Check == cluster.Fine, b.Obstacle.Check == cluster.Fine
	switch {
	case fineA != fineB:
		return fineA
	case fineA:
		return a.Cost.Less(b.Cost)
	}
	return a.Host < b.Host
}

// Explain lists for every host the obstacle to a VM, or its cost: feasible hosts first, by
// cost, then the others in order.
func (p *Placer) Explain(v cluster.VMID) []Verdict {
	return p.Leading([]cluster.VMID{v}, len(p.c.Hosts), nil)
}

// Leading is the beginning of Explain's list for VMs that must run on one host, wherever they
// run now, without skipped hosts.
func (p *Placer) Leading(unit []cluster.VMID, most int, skip func(cluster.HostID) bool) []Verdict {
	defer p.lift(unit)()
	asks := p.costs.asks(unit)
	// A lower bound of the cost, without rules and reservations.
	couldPrecede := func(h cluster.HostID, o *Verdict) bool {
		least := Verdict{Cost: p.costs.weigh(asks, 0, h)}
		return least.before(o)
	}
	list := make([]Verdict, 0, most)
	for h := range p.c.Hosts {
		id := cluster.HostID(h)
		if skip != nil && skip(id) || len(list) == most && !couldPrecede(id, &list[most-1]) {
			continue
		}
		v := p.verdict(unit, id)
		i := len(list)
		if most < len(p.c.Hosts) { // a short list is kept in order
			for i > 0 && v.before(&list[i-1]) {
				i--
			}
			if i == most {
				continue
			}
		}
		list = slices.Insert(list[:min(len(list), most-1)], i, v)
	}
	if most >= len(p.c.Hosts) {
		slices.SortFunc(list, func(a, b Verdict) int {
			if a.before(&b) {
				return -1
			}
			return 1
		})
	}
	return list
}

// lift removes VMs from their hosts, so that their own load does not count twice, and returns
// a function that restores them.
func (p *Placer) lift(unit []cluster.VMID) (putBack func()) {
	from := make([]cluster.HostID, len(unit))
	for i, v := range unit {
		from[i] = p.layout.Host(v)
		p.layout.Move(v, cluster.Nowhere)
	}
	return func() {
		for i, v := range unit {
			p.layout.Move(v, from[i])
		}
	}
}

// verdict is the result of one host for VMs without a host. The layout is afterwards as
// before.
func (p *Placer) verdict(unit []cluster.VMID, h cluster.HostID) Verdict {
	out := Verdict{Host: h, VM: unit[0]}
	n := 0
	for ; n < len(unit); n++ {
		if out.Obstacle = p.layout.Obstacle(unit[n], h); out.Obstacle.Check != cluster.Fine {
			out.VM = unit[n]
			break
		}
		if len(unit) > 1 {
			p.layout.Move(unit[n], h)
		}
	}
	if len(unit) > 1 {
		for _, v := range unit[:n] {
			p.layout.Move(v, cluster.Nowhere)
		}
	}
	if n == len(unit) {
		out.Cost = p.costs.of(h, unit...)
	}
	return out
}
