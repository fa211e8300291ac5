package divvy

import (
	"slices"

	"plimsoll/internal/cluster"
)

// plan performs on the tree at hand whatever the host would accept, until nothing is left
// to do, and says whether it got there. What takes room waits until all that moves has
// moved.
func (p *planner) plan() bool {
	for {
		p.trim()
		for p.free() {
			p.trim()
		}
		switch {
		case p.moves():
			if !p.unstick() {
				return false
			}
		case p.take():
		case p.complete():
			return true
		case !p.splitOne(p.lower):
			return false
		}
	}
}

// trim forgets what is done.
func (p *planner) trim() {
	p.pools = slices.DeleteFunc(p.pools, func(i int32) bool {
		at, found := p.now.pool(p.goal[i].ID)
		return found && p.now.pools[at] == p.goal[i] && !p.remake[p.goal[i].ID]
	})
	p.vms = slices.DeleteFunc(p.vms, func(i int32) bool {
		at, found := p.now.vm(p.to.vms[i].VM)
		return found && p.now.vms[at] == p.to.vms[i]
	})
	p.leaving = slices.DeleteFunc(p.leaving, func(v cluster.VMID) bool {
		_, found := p.now.vm(v)
		return !found
	})
}

// moves says whether anything is still to move.
func (p *planner) moves() bool {
	for _, i := range p.pools {
		if at, found := p.now.pool(p.goal[i].ID); found && (p.now.pools[at].Parent != p.goal[i].Parent || p.remake[p.goal[i].ID]) {
			return true
		}
	}
	for _, i := range p.vms {
		if at, found := p.now.vm(p.to.vms[i].VM); found && p.now.vms[at].Pool != p.to.vms[i].Pool {
			return true
		}
	}
	return false
}

// try performs an operation if the host would accept it.
func (p *planner) try(o Op) bool {
	if p.now.obstacle(&o).why != nothing {
		return false
	}
	p.now.do(&o)
	p.ops = append(p.ops, o)
	return true
}

// lower does what makes room.
func (p *planner) lower() bool {
	did := p.leave()
	for _, i := range p.vms {
		did = p.changeVM(i, lowering) || did
	}
	for k := len(p.pools) - 1; k >= 0; k-- {
		did = p.changePool(p.pools[k], lowering) || did
	}
	return did
}

// free does what makes room or takes none but for what moves.
func (p *planner) free() bool {
	did := p.lower()
	for _, i := range p.pools {
		if p.needed[i] {
			did = p.changePool(i, anyway) || did
			did = p.createPool(i) || did
		}
	}
	for _, i := range p.pools {
		did = p.movePool(i, false) || did
	}
	for _, i := range p.vms {
		did = p.moveVM(i, false) || did
	}
	return p.destroy() || did
}

// take does what takes room.
func (p *planner) take() (did bool) {
	for _, i := range p.pools {
		did = p.changePool(i, anyway) || did
		did = p.createPool(i) || did
	}
	for _, i := range p.vms {
		did = p.changeVM(i, anyway) || did
		did = p.enter(i) || did
	}
	return did
}

func (p *planner) leave() (did bool) {
	for _, v := range p.leaving {
		if i, found := p.now.vm(v); found {
			did = p.try(Op{Verb: LeaveVM, VM: v, Pool: p.now.vms[i].Pool, Parent: cluster.Nowhere}) || did
		}
	}
	return did
}

// raises says whether an amount of a resource that is to be set takes more room.
func raises(sets Fields, was, to cluster.Resources) bool {
	return sets&SetsCPU != 0 && to.CPU > was.CPU || sets&SetsMem != 0 && to.Memory > was.Memory
}

// mixed says whether one reservation is to be raised and the other lowered.
func mixed(was, to cluster.Resources) bool {
	return to.CPU > was.CPU && to.Memory < was.Memory || to.CPU < was.CPU && to.Memory > was.Memory
}

// portions are the operations by which a change is made: one, or one by resource where it
// was split.
func portions(sets Fields, split bool) [2]Fields {
	if split && sets&SetsCPU != 0 && sets&SetsMem != 0 {
		return [2]Fields{sets &^ SetsMem, SetsMem}
	}
	return [2]Fields{sets}
}

// manner is which changes are made: those that take no room, all, or those that take no
// room of what is still to move.
type manner uint8

const (
	lowering manner = iota
	anyway
	ahead
)

func (p *planner) changePool(i int32, m manner) (did bool) {
	g := &p.goal[i]
	at, found := p.now.pool(g.ID)
	if !found || (p.now.pools[at].Parent != g.Parent) != (m == ahead) || p.remake[g.ID] {
		return false
	}
	was := &p.now.pools[at]
	for _, sets := range portions(differs(was, g), p.split[i]) {
		if sets != 0 && (m == anyway || !raises(sets, reserved(was.CPU, was.Mem), reserved(g.CPU, g.Mem))) {
			did = p.try(poolOp(ChangePool, sets, g)) || did
		}
	}
	return did
}

func (p *planner) changeVM(i int32, m manner) (did bool) {
	g := &p.to.vms[i]
	at, found := p.now.vm(g.VM)
	if !found || p.now.vms[at].Pool != g.Pool {
		return false
	}
	was := &p.now.vms[at]
	for _, sets := range portions(differing(was.CPU, g.CPU, was.Mem, g.Mem), p.split[^i]) {
		if sets != 0 && (m == anyway || !raises(sets, reserved(was.CPU, was.Mem), reserved(g.CPU, g.Mem))) {
			did = p.try(vmOp(ChangeVM, sets, g)) || did
		}
	}
	return did
}

// settled says whether a pool is where it is to be, and those above as well: what is put
// into it stays there.
func (p *planner) settled(i int32) bool {
	for ; i >= 0; i = p.to.up[i] {
		at, found := p.now.pool(p.goal[i].ID)
		if !found || p.now.pools[at].Parent != p.goal[i].Parent || p.remake[p.goal[i].ID] {
			return false
		}
	}
	return true
}

func (p *planner) createPool(i int32) bool {
	if _, found := p.now.pool(p.goal[i].ID); found || !p.settled(p.to.up[i]) {
		return false
	}
	return p.try(poolOp(CreatePool, 0, &p.goal[i]))
}

func (p *planner) enter(i int32) bool {
	if _, found := p.now.vm(p.to.vms[i].VM); found || !p.settled(p.to.in[i]) {
		return false
	}
	return p.try(vmOp(EnterVM, 0, &p.to.vms[i]))
}

// movePool moves a pool, with its change unless that is to be made apart.
func (p *planner) movePool(i int32, apart bool) bool {
	g := &p.goal[i]
	at, found := p.now.pool(g.ID)
	if !found || p.now.pools[at].Parent == g.Parent || p.remake[g.ID] || !p.settled(p.to.up[i]) {
		return false
	}
	sets := differs(&p.now.pools[at], g)
	if apart {
		sets = 0
	}
	return p.try(poolOp(MovePool, sets, g))
}

func (p *planner) moveVM(i int32, apart bool) bool {
	g := &p.to.vms[i]
	at, found := p.now.vm(g.VM)
	if !found || p.now.vms[at].Pool == g.Pool || !p.settled(p.to.in[i]) {
		return false
	}
	was := &p.now.vms[at]
	sets := differing(was.CPU, g.CPU, was.Mem, g.Mem)
	if apart {
		sets = 0
	}
	return p.try(vmOp(MoveVM, sets, g))
}

func (p *planner) destroy() (did bool) {
	for _, id := range p.old {
		if _, found := p.now.pool(id); found && p.try(Op{Verb: DestroyPool, Pool: id, VM: cluster.Nowhere, Parent: cluster.Nowhere}) {
			did = true
		}
	}
	for k := len(p.from.order) - 1; k >= 0 && len(p.remake) > 0; k-- {
		if id := p.from.pools[p.from.order[k]].ID; p.remake[id] && p.try(Op{Verb: DestroyPool, Pool: id, VM: cluster.Nowhere, Parent: cluster.Nowhere}) {
			delete(p.remake, id)
			did = true
		}
	}
	return did
}

// complete says whether nothing is left to do.
func (p *planner) complete() bool {
	p.trim()
	return len(p.pools) == 0 && len(p.vms) == 0 && len(p.now.pools) == len(p.goal) && len(p.now.vms) == len(p.to.vms)
}

// unstick takes one detour, the one that disturbs least: each takes one more operation,
// and only where VMs must leave their pools for a while they are without their
// reservations.
func (p *planner) unstick() bool {
	if p.splitOne(p.free) {
		return true
	}
	for _, i := range p.pools {
		if p.movePool(i, true) {
			return true
		}
	}
	for _, i := range p.vms {
		if p.moveVM(i, true) {
			return true
		}
	}
	for _, i := range p.pools {
		if p.helps(func() bool { return p.changePool(i, ahead) }) {
			return true
		}
	}
	return p.drain() || p.park(true) || p.park(false) || p.remakeOne()
}

// helps makes a detour and takes it back when nothing follows from it.
func (p *planner) helps(detour func() bool) bool {
	now, done := p.now.Clone(), len(p.ops)
	if detour() && p.free() {
		return true
	}
	p.now, p.ops = now, p.ops[:done]
	return false
}

// splitOne has the first change that raises one resource and lowers the other, and by
// whose splitting something follows, be made in two parts. VMs are numbered
// backwards, apart from pools.
func (p *planner) splitOne(follows func() bool) bool {
	split := func(i int32) bool {
		p.split[i] = true
		if follows() {
			return true
		}
		delete(p.split, i)
		return false
	}
	for _, i := range p.vms {
		g := &p.to.vms[i]
		if at, found := p.now.vm(g.VM); found && p.now.vms[at].Pool == g.Pool && mixed(reserved(p.now.vms[at].CPU, p.now.vms[at].Mem), reserved(g.CPU, g.Mem)) && split(^i) {
			return true
		}
	}
	for _, i := range p.pools {
		g := &p.goal[i]
		if at, found := p.now.pool(g.ID); found && p.now.pools[at].Parent == g.Parent && mixed(reserved(p.now.pools[at].CPU, p.now.pools[at].Mem), reserved(g.CPU, g.Mem)) && split(i) {
			return true
		}
	}
	return false
}

// drain lowers the reservation of a pool that is to be destroyed to what is in use of it.
func (p *planner) drain() bool {
	for _, id := range p.old {
		at, found := p.now.pool(id)
		if !found || p.drained[id] {
			continue
		}
		pool, used := p.now.pools[at], p.now.held[at].used
		pool.CPU.Reservation, pool.Mem.Reservation = used.CPU, used.Memory
		if sets := differs(&p.now.pools[at], &pool); sets != 0 && p.helps(func() bool { return p.try(poolOp(ChangePool, sets, &pool)) }) {
			p.drained[id] = true
			return true
		}
	}
	return false
}

// park has the first VM that is to move, and that reserves something if asked for
// one, leave its pool.
func (p *planner) park(reserves bool) bool {
	for _, i := range p.vms {
		g := &p.to.vms[i]
		at, found := p.now.vm(g.VM)
		if !found {
			continue
		}
		if was := p.now.vms[at]; was.Pool != g.Pool && (reserved(was.CPU, was.Mem) != cluster.Resources{}) == reserves {
			return p.try(Op{Verb: LeaveVM, VM: was.VM, Pool: was.Pool, Parent: cluster.Nowhere})
		}
	}
	return false
}

// remakeOne has the first pool that is to move be destroyed, with all in it, and created
// where it is to be.
func (p *planner) remakeOne() bool {
	for _, i := range p.pools {
		id := p.goal[i].ID
		if at, found := p.now.pool(id); !found || p.now.pools[at].Parent == p.goal[i].Parent || p.remake[id] {
			continue
		}
		for _, pool := range p.now.pools {
			if p.now.inside(pool.ID, id) {
				p.remake[pool.ID] = true
			}
		}
		for k := len(p.now.vms) - 1; k >= 0; k-- {
			if v := p.now.vms[k]; p.remake[v.Pool] {
				p.try(Op{Verb: LeaveVM, VM: v.VM, Pool: v.Pool, Parent: cluster.Nowhere})
			}
		}
		p.everything()
		return true
	}
	return false
}

// everything has no part be skipped any longer.
func (p *planner) everything() {
	p.pools = append(p.pools[:0], p.to.order...)
	p.vms = p.vms[:0]
	for i := range p.to.vms {
		p.vms = append(p.vms, int32(i))
	}
	p.skipped = 0
}
