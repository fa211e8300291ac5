package hosttree

import (
	"iter"
	"slices"

	"plimsoll/internal/cluster"
)

// plan performs what the host would accept on the working tree until nothing is left to do,
// and reports whether it reached the goal. Changes that need capacity wait until all moves are
// made.
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

// part is the current state of a pool or VM of the goal. Pools are numbered by their indexes
// in the goal, VMs backwards from -1.
type part struct {
	up      int32 // its pool in the goal
	at      int   // its index in the working tree
	there   bool
	moves   bool   // it is not in its pool of the goal
	remade  bool   // it is destroyed first
	sets    Fields // fields that differ
	was, to cluster.Resources
}

func (p *planner) part(i int32) (x part) {
	if i < 0 {
		g := &p.to.vms[^i]
		x.up = p.to.in[^i]
		if x.at, x.there = p.now.vm(g.VM); x.there {
			was := &p.now.vms[x.at]
			x.moves, x.sets = was.Pool != g.Pool, differing(was.CPU, g.CPU, was.Mem, g.Mem)
			x.was, x.to = reserved(was.CPU, was.Mem), reserved(g.CPU, g.Mem)
		}
		return x
	}
	g := &p.goal[i]
	x.up, x.remade = p.to.up[i], p.remake[g.ID]
	if x.at, x.there = p.now.pool(g.ID); x.there {
		was := &p.now.pools[x.at]
		x.moves, x.sets = was.Parent != g.Parent, differs(was, g)
		x.was, x.to = reserved(was.CPU, was.Mem), reserved(g.CPU, g.Mem)
	}
	return x
}

// settled reports whether a part has reached its pool.
func (x *part) settled() bool { return x.there && !x.moves && !x.remade }

// all visits the parts that may differ, pools first.
func (p *planner) all() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, list := range [][]int32{p.pools, p.vms} {
			for _, i := range list {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// trim drops what is done.
func (p *planner) trim() {
	done := func(i int32) bool {
		x := p.part(i)
		return x.settled() && x.sets == 0
	}
	p.pools, p.vms = slices.DeleteFunc(p.pools, done), slices.DeleteFunc(p.vms, done)
	p.leaving = slices.DeleteFunc(p.leaving, func(v cluster.VMID) bool {
		_, found := p.now.vm(v)
		return !found
	})
}

// moves reports whether a move remains.
func (p *planner) moves() bool {
	for i := range p.all() {
		if x := p.part(i); x.there && !x.settled() {
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

// lower makes the changes that free capacity.
func (p *planner) lower() bool {
	did := p.leave()
	for _, i := range p.vms {
		did = p.change(i, lowering) || did
	}
	for _, i := range slices.Backward(p.pools) {
		did = p.change(i, lowering) || did
	}
	return did
}

// free makes the changes that free capacity, or need it only for a move.
func (p *planner) free() bool {
	did := p.lower()
	for _, i := range p.pools {
		if p.needed[i] {
			did = p.change(i, anyway) || did
			did = p.create(i) || did
		}
	}
	for i := range p.all() {
		did = p.move(i, false) || did
	}
	return p.destroy() || did
}

// take makes the changes that need capacity.
func (p *planner) take() (did bool) {
	for i := range p.all() {
		did = p.change(i, anyway) || did
		did = p.create(i) || did
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

// raises reports whether a change of some fields needs more capacity.
func raises(sets Fields, was, to cluster.Resources) bool {
	return sets&SetsCPU != 0 && to.CPU > was.CPU || sets&SetsMem != 0 && to.Memory > was.Memory
}

// mixed reports whether one reservation rises and the other falls.
func mixed(was, to cluster.Resources) bool {
	return to.CPU > was.CPU && to.Memory < was.Memory || to.CPU < was.CPU && to.Memory > was.Memory
}

// portions are the operations of a change: one, or one per resource where it was split.
func portions(sets Fields, split bool) [2]Fields {
	if split && sets&SetsCPU != 0 && sets&SetsMem != 0 {
		return [2]Fields{sets &^ SetsMem, SetsMem}
	}
	return [2]Fields{sets}
}

// selection selects changes: those that need no capacity, all, or those that need none of what
// remains to move.
type selection uint8

const (
	lowering selection = iota
	anyway
	ahead
)

func (p *planner) change(i int32, m selection) (did bool) {
	x := p.part(i)
	if !x.there || x.moves != (m == ahead) || x.remade {
		return false
	}
	for _, sets := range portions(x.sets, p.split[i]) {
		if sets != 0 && (m == anyway || !raises(sets, x.was, x.to)) {
			did = p.try(p.op(ChangePool, sets, i)) || did
		}
	}
	return did
}

// op is the operation on a part: the one on a pool, or the corresponding one on a VM.
func (p *planner) op(verb Verb, sets Fields, i int32) Op {
	if i < 0 {
		return vmOp(verb+ChangeVM-ChangePool, sets, &p.to.vms[^i])
	}
	return poolOp(verb, sets, &p.goal[i])
}

// stays reports whether the content of a pool stays there: the pool and those above it are
// settled.
func (p *planner) stays(i int32) bool {
	for i >= 0 {
		x := p.part(i)
		if !x.settled() {
			return false
		}
		i = x.up
	}
	return true
}

func (p *planner) create(i int32) bool {
	x := p.part(i)
	return !x.there && p.stays(x.up) && p.try(p.op(CreatePool, 0, i))
}

// move moves a part, together with its change unless apart is set.
func (p *planner) move(i int32, apart bool) bool {
	x := p.part(i)
	if !x.there || !x.moves || x.remade || !p.stays(x.up) {
		return false
	}
	if apart {
		x.sets = 0
	}
	return p.try(p.op(MovePool, x.sets, i))
}

func (p *planner) destroy() (did bool) {
	for _, id := range p.old {
		if _, found := p.now.pool(id); found && p.try(Op{Verb: DestroyPool, Pool: id, VM: cluster.Nowhere, Parent: cluster.Nowhere}) {
			did = true
		}
	}
	for _, i := range slices.Backward(p.from.order) {
		if len(p.remake) == 0 {
			break
		}
		if id := p.from.pools[i].ID; p.remake[id] && p.try(Op{Verb: DestroyPool, Pool: id, VM: cluster.Nowhere, Parent: cluster.Nowhere}) {
			delete(p.remake, id)
			did = true
		}
	}
	return did
}

// complete reports whether nothing is left to do.
func (p *planner) complete() bool {
	p.trim()
	return len(p.pools) == 0 && len(p.vms) == 0 && len(p.now.pools) == len(p.goal) && len(p.now.vms) == len(p.to.vms)
}

// unstick makes the detour with the least disturbance. Each takes one more operation; only a
// VM that leaves its pool is without its reservation meanwhile.
func (p *planner) unstick() bool {
	if p.splitOne(p.free) {
		return true
	}
	for i := range p.all() {
		if p.move(i, true) {
			return true
		}
	}
	for _, i := range p.pools {
		if p.helps(func() bool { return p.change(i, ahead) }) {
			return true
		}
	}
	return p.drain() || p.park(true) || p.park(false) || p.remakeOne()
}

// helps makes a detour, and undoes it if no progress follows.
func (p *planner) helps(detour func() bool) bool {
	now, done := p.now.Clone(), len(p.ops)
	if detour() && p.free() {
		return true
	}
	p.now, p.ops = now, p.ops[:done]
	return false
}

// splitOne splits the first change that raises one resource and lowers the other, if that
// allows progress. VMs come before pools.
func (p *planner) splitOne(follows func() bool) bool {
	for _, list := range [][]int32{p.vms, p.pools} {
		for _, i := range list {
			if x := p.part(i); !x.there || x.moves || !mixed(x.was, x.to) {
				continue
			}
			p.split[i] = true
			if follows() {
				return true
			}
			delete(p.split, i)
		}
	}
	return false
}

// drain lowers the reservation of a pool to be destroyed to the used part.
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

// park removes the first VM that has to move from its pool; if reserves is set, one with a
// reservation.
func (p *planner) park(reserves bool) bool {
	for _, i := range p.vms {
		if x := p.part(i); x.moves && (x.was != cluster.Resources{}) == reserves {
			was := &p.now.vms[x.at]
			return p.try(Op{Verb: LeaveVM, VM: was.VM, Pool: was.Pool, Parent: cluster.Nowhere})
		}
	}
	return false
}

// remakeOne destroys the first pool that has to move, with all in it, to create it in its
// place of the goal.
func (p *planner) remakeOne() bool {
	for _, i := range p.pools {
		if x := p.part(i); !x.moves || x.remade {
			continue
		}
		id := p.goal[i].ID
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

// everything stops skipping equal parts.
func (p *planner) everything() {
	p.pools = append(p.pools[:0], p.to.order...)
	p.vms = p.vms[:0]
	for i := range p.to.vms {
		p.vms = append(p.vms, ^int32(i))
	}
	p.skipped = 0
}
