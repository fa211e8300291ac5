package place

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
)

// mostMoved is the maximum number of VMs moved to make room for one, and mostTried the maximum
// number of a host's VMs that are tried for that, the cheapest to move first.
const (
	mostMoved = 2
	mostTried = 32
)

// makeRoom searches a host that could run the VM after moves of others, and chooses the one
// with the least memory to copy.
func (p *Placer) makeRoom(v cluster.VMID, none Choice) Choice {
	best, least := none, int64(0)
	for h := range p.c.Hosts {
		id := cluster.HostID(h)
		switch p.layout.Obstacle(v, id).Check {
		case cluster.CPUCheck, cluster.MemoryCheck, cluster.CountCheck, cluster.ApartCheck:
		default:
			continue
		}
		steps, copied, ok := p.clear(v, id, mostMoved)
		if ok && (best.Host == cluster.Nowhere || copied < least) {
			best.Host, best.First, least = id, steps, copied
		}
	}
	if best.Host != cluster.Nowhere {
		undone(p.layout, best.First, func() { best.Cost = p.costs.of(best.Host, v) })
	}
	return best
}

// clear finds the VMs to move off a host until another can run there.
func (p *Placer) clear(v cluster.VMID, h cluster.HostID, moves int) (steps []Step, copied int64, ok bool) {
	if p.layout.Obstacle(v, h).Check == cluster.Fine {
		return nil, 0, true
	}
	if moves == 0 {
		return nil, 0, false
	}
	for _, w := range cheapest(p.layout, h) {
		to := p.costs.best(w, h).Host
		if to == cluster.Nowhere {
			continue
		}
		step := Step{w, h, to}
		undone(p.layout, []Step{step}, func() {
			rest, more, fits := p.clear(v, h, moves-1)
			if total := more + p.c.VMs[w].Memory; fits && (!ok || total < copied) {
				steps, copied, ok = append([]Step{step}, rest...), total, true
			}
		})
		if ok && len(steps) == 1 {
			return steps, copied, true // others cost more
		}
	}
	return steps, copied, ok
}

// cheapest lists VMs of a host that may move, the smallest first.
func cheapest(l *cluster.Layout, h cluster.HostID) []cluster.VMID {
	c := l.Cluster()
	var list []cluster.VMID
	for _, w := range l.On(h) {
		if !c.VMs[w].Pinned {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b cluster.VMID) int {
		return cmp.Or(cmp.Compare(c.VMs[a].Memory, c.VMs[b].Memory), cmp.Compare(a, b))
	})
	return list[:min(len(list), mostTried)]
}
