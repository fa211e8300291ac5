package hosttree

import (
	"slices"

	"plimsoll/internal/cluster"
)

// Tolerance decides which changes of pools are too small for an operation: those of a
// reservation, a limit or shares by at most a fraction of the host's, and those by one unit,
// which are rounding noise.
type Tolerance struct {
	PerMille int64 // from 0 to 1000
	// Exact selects pools whose numbers are set exactly, such as those that an administrator
	// has just changed; those of VMs and of the root always are. Nil selects none.
	Exact func(cluster.PoolID) bool
}

// DefaultTolerance is one per cent, for all pools.
func DefaultTolerance() Tolerance { return Tolerance{PerMille: 10} }

// Precise is the tolerance that accepts no difference.
func Precise() Tolerance { return Tolerance{Exact: func(cluster.PoolID) bool { return true }} }

// Sync is the operations that update a host's tree.
type Sync struct {
	Ops     []Op
	Skipped int // pools in equal parts of both trees, not compared
	Rebuild int // operations of destroying and creating everything
}

// Diff is the operations that turn the tree of a host into a goal. The host accepts each once
// those before it are performed: no pool ever has more reserved in it than it reserves. First,
// VMs that are not in the goal leave. Reservations are lowered, from the VMs up. Pools that
// others move into are raised and created, from the root down. Pools and VMs move, and empty
// pools are destroyed. Then the rest is raised, created and entered.
//
// Each pool and VM is changed once, unless reservations are so tight that no such order
// exists. Then a change is split by resource, made apart from a move, or a VM leaves its pool
// and enters the other one later. As a last resort a pool is destroyed and created again.
// There are never more operations than in a rebuild.
func Diff(from, to *Tree, keep Tolerance) Sync {
	s := Sync{Rebuild: rebuildLength(from, to)}
	if from.sums[0] == to.sums[0] {
		s.Skipped = len(to.pools)
		return s
	}
	p := newPlanner(from, to)
	keep.settle(p)
	if done := p.plan(); done && len(p.ops) <= s.Rebuild {
		s.Ops, s.Skipped = p.ops, p.skipped
	} else {
		s.Ops = rebuild(from, to, p.goal)
	}
	return s
}

// planner turns a tree into a goal. The difference between the two remains to be done.
type planner struct {
	from, to *Tree
	now      *Tree
	goal     []Pool // to's, except what stays as it is
	same     []bool // by index in goal: in a part that is equal in both
	skipped  int
	pools    []int32 // parts that may differ, parents first
	vms      []int32
	old      []cluster.PoolID // pools to destroy, children first
	leaving  []cluster.VMID
	needed   []bool // by index in goal: something moves into it or below it
	split    map[int32]bool
	drained  map[cluster.PoolID]bool
	remake   map[cluster.PoolID]bool // to be destroyed first, though they are in the goal
	ops      []Op
}

func newPlanner(from, to *Tree) *planner {
	p := &planner{from: from, to: to, now: from.Clone(), goal: slices.Clone(to.pools), same: make([]bool, len(to.pools)),
		needed: make([]bool, len(to.pools)), split: map[int32]bool{}, drained: map[cluster.PoolID]bool{}, remake: map[cluster.PoolID]bool{}}
	for _, i := range to.order {
		j, found := from.pool(to.pools[i].ID)
		up := to.up[i]
		if p.same[i] = up >= 0 && p.same[up] || found && from.sums[j] == to.sums[i]; p.same[i] {
			p.skipped++
		} else {
			p.pools = append(p.pools, i)
		}
	}
	for i := range to.vms {
		if !p.same[to.in[i]] {
			p.vms = append(p.vms, ^int32(i))
		}
	}
	for _, i := range slices.Backward(from.order) {
		id := from.pools[i].ID
		if _, stays := to.pool(id); !stays {
			p.old = append(p.old, id)
		}
	}
	for i := range from.vms {
		if _, stays := to.vm(from.vms[i].VM); !stays {
			p.leaving = append(p.leaving, from.vms[i].VM)
		}
	}
	for i := range p.all() {
		if x := p.part(i); x.moves {
			for up := x.up; up >= 0 && !p.needed[up]; up = to.up[up] {
				p.needed[up] = true
			}
		}
	}
	return p
}

// settle keeps the host's numbers where they are close to the goal's, and nothing else in the
// goal depends on the difference.
func (k Tolerance) settle(p *planner) {
	for _, i := range p.pools {
		g := &p.goal[i]
		j, found := p.from.pool(g.ID)
		if !found || g.ID == 0 || k.Exact != nil && k.Exact(g.ID) {
			continue
		}
		g.CPU, g.Mem = k.nearest(p.from.pools[j].CPU, g.CPU), k.nearest(p.from.pools[j].Mem, g.Mem)
	}
	used := make([]held, len(p.goal))
	for again := true; again; {
		again = false
		clear(used)
		for i := range p.to.vms {
			v := &p.to.vms[i]
			used[p.to.in[i]].add(reserved(v.CPU, v.Mem))
		}
		for i := range p.goal {
			if up := p.to.up[i]; up >= 0 {
				used[up].add(reserved(p.goal[i].CPU, p.goal[i].Mem))
			}
		}
		full := func(i int32) bool {
			return i >= 0 && fits(p.goal[i].CPU, p.goal[i].Mem, used[i].used).why != nothing
		}
		for i := range p.goal {
			if p.goal[i] != p.to.pools[i] && (full(int32(i)) || full(p.to.up[i])) {
				p.goal[i], again = p.to.pools[i], true
			}
		}
	}
}

// nearest is the goal of one resource, with the present numbers where they are close.
func (k Tolerance) nearest(was, to Grant) Grant {
	keep := func(was, to int64) int64 {
		if gap := max(was-to, to-was); was != cluster.Unlimited && to != cluster.Unlimited && gap <= max(1, was/1000*k.PerMille+was%1000*k.PerMille/1000) {
			return was
		}
		return to
	}
	g := Grant{keep(was.Reservation, to.Reservation), keep(was.Limit, to.Limit), keep(was.Shares, to.Shares)}
	if g.Limit < g.Reservation {
		return to
	}
	return g
}

// rebuildLength counts the operations of a rebuild.
func rebuildLength(from, to *Tree) int {
	n := len(from.pools) - 1 + len(from.vms) + len(to.pools) - 1 + len(to.vms)
	if from.pools[0] != to.pools[0] {
		n++
	}
	return n
}

// rebuild destroys everything and creates the goal.
func rebuild(from, to *Tree, goal []Pool) []Op {
	ops := make([]Op, 0, rebuildLength(from, to))
	for i := range from.vms {
		ops = append(ops, Op{Verb: LeaveVM, VM: from.vms[i].VM, Pool: from.vms[i].Pool})
	}
	for i := len(from.order) - 1; i > 0; i-- {
		ops = append(ops, Op{Verb: DestroyPool, Pool: from.pools[from.order[i]].ID, VM: cluster.Nowhere})
	}
	if sets := differs(&from.pools[0], &goal[0]); sets != 0 {
		ops = append(ops, poolOp(ChangePool, sets, &goal[0]))
	}
	for _, i := range to.order[1:] {
		ops = append(ops, poolOp(CreatePool, 0, &goal[i]))
	}
	for i := range to.vms {
		ops = append(ops, vmOp(EnterVM, 0, &to.vms[i]))
	}
	return ops
}

// differs are the fields of a pool to set.
func differs(a, b *Pool) Fields {
	sets := differing(a.CPU, b.CPU, a.Mem, b.Mem)
	if a.Name != b.Name {
		sets |= SetsName
	}
	return sets
}

func differing(cpuA, cpuB, memA, memB Grant) (sets Fields) {
	if cpuA != cpuB {
		sets |= SetsCPU
	}
	if memA != memB {
		sets |= SetsMem
	}
	return sets
}

// poolOp has only the values of its fields, so that equal operations are equal.
func poolOp(verb Verb, sets Fields, p *Pool) Op {
	o := Op{Verb: verb, Sets: sets, Pool: p.ID, VM: cluster.Nowhere, Parent: cluster.Nowhere}
	if verb == CreatePool || verb == MovePool {
		o.Parent = p.Parent
	}
	if verb == CreatePool || sets&SetsName != 0 {
		o.Name = p.Name
	}
	o.grants(p.CPU, p.Mem)
	return o
}

func vmOp(verb Verb, sets Fields, v *VM) Op {
	o := Op{Verb: verb, Sets: sets, Pool: v.Pool, VM: v.VM, Parent: cluster.Nowhere}
	o.grants(v.CPU, v.Mem)
	return o
}

func (o *Op) grants(cpu, mem Grant) {
	all := o.Verb == CreatePool || o.Verb == EnterVM
	if all || o.Sets&SetsCPU != 0 {
		o.CPU = cpu
	}
	if all || o.Sets&SetsMem != 0 {
		o.Mem = mem
	}
}
