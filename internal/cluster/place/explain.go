package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Verdict is what is said of one host for one machine.
type Verdict struct {
	Host     cluster.HostID
	Obstacle cluster.Obstacle // why not; Fine where it could
	Cost     Cost             // where it could
}

// Explain says of every host why a machine cannot run there, or what it would cost:
// first those that could, the best first, then the others in their order.
func (p *Placer) Explain(v cluster.VMID) []Verdict {
	from := p.layout.Host(v)
	if from != cluster.Nowhere { // its own load must not count twice
		p.layout.Move(v, cluster.Nowhere)
		defer p.layout.Move(v, from)
	}
	all := make([]Verdict, len(p.c.Hosts))
	for h := range p.c.Hosts {
		id := cluster.HostID(h)
		all[h] = Verdict{Host: id, Obstacle: p.layout.Obstacle(v, id)}
		if all[h].Obstacle.Check == cluster.Fine {
			all[h].Cost = p.cost(v, id)
		}
	}
	slices.SortFunc(all, func(a, b Verdict) int {
		fineA, fineB := a.Obstacle.Check == cluster.Fine, b.Obstacle.Check == cluster.Fine
		switch {
		case fineA != fineB && fineA, fineA && fineB && a.Cost.Less(b.Cost):
			return -1
		case fineA != fineB && fineB, fineA && fineB && b.Cost.Less(a.Cost):
			return 1
		}
		return int(a.Host - b.Host)
	})
	return all
}
