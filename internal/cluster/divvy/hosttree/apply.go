package hosttree

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
)

// Verb is the kind of an operation.
type Verb uint8

// The operations on a host's tree. Moves also set fields; creations and entries set all. Each
// operation on a VM follows that on a pool at a constant distance.
const (
	ChangePool Verb = iota
	CreatePool
	MovePool
	DestroyPool // the pool must be empty
	ChangeVM
	EnterVM // adds a VM to a pool
	MoveVM
	LeaveVM // removes a VM from its pool, for good or until it enters another
)

var verbs = [...]string{"change pool", "create pool", "move pool", "destroy pool", "change VM", "enter VM", "move VM", "leave VM"}

// String is the verb and its object.
func (v Verb) String() string {
	if int(v) >= len(verbs) {
		return fmt.Sprintf("verb %d", uint8(v))
	}
	return verbs[v]
}

func (v Verb) ofVM() bool { return v >= ChangeVM }

// Fields is a bit set of the fields that an operation sets.
type Fields uint8

// The fields: a pool's name, and the reservation, limit and shares of a resource.
const (
	SetsName Fields = 1 << iota
	SetsCPU
	SetsMem
)

// Op is one operation on a host's tree.
type Op struct {
	Verb     Verb
	Sets     Fields // of ChangePool, MovePool, ChangeVM and MoveVM: the fields to set
	Pool     cluster.PoolID
	VM       cluster.VMID   // of operations on a VM; Pool is its pool afterwards
	Parent   cluster.PoolID // of CreatePool and MovePool
	Name     string
	CPU, Mem Grant
}

// String is the operation with its numbers.
func (o Op) String() string {
	s := fmt.Sprintf("%v %d", o.Verb, o.Pool)
	if o.Verb.ofVM() {
		s = fmt.Sprintf("%v %d pool %d", o.Verb, o.VM, o.Pool)
	} else if o.Verb == CreatePool || o.Verb == MovePool {
		s += fmt.Sprintf(" parent %d", o.Parent)
	}
	sets := o.Sets
	if o.Verb == CreatePool || o.Verb == EnterVM {
		sets = SetsName | SetsCPU | SetsMem
	}
	if sets&SetsName != 0 && !o.Verb.ofVM() {
		s += fmt.Sprintf(" name %q", o.Name)
	}
	if sets&SetsCPU != 0 {
		s += " cpu " + o.CPU.String()
	}
	if sets&SetsMem != 0 {
		s += " memory " + o.Mem.String()
	}
	return s
}

// String is reservation, limit and shares, in this order.
func (g Grant) String() string {
	if g.Limit == cluster.Unlimited {
		return fmt.Sprintf("%d/-/%d", g.Reservation, g.Shares)
	}
	return fmt.Sprintf("%d/%d/%d", g.Reservation, g.Limit, g.Shares)
}

// Apply performs the operations in order, up to the first one that the host would reject, and
// returns the number performed.
func (t *Tree) Apply(ops ...Op) (int, error) {
	for i := range ops {
		if o := t.obstacle(&ops[i]); o.why != nothing {
			return i, fmt.Errorf("%v: %w", ops[i], orFirst(o, t.complete()))
		}
		t.do(&ops[i])
	}
	return len(ops), t.complete()
}

// orFirst is the refusal, unless the tree itself is invalid.
func orFirst(o obstacle, broken error) error {
	if broken != nil {
		return broken
	}
	return o
}

// target is a pool or a VM after an operation.
type target struct {
	cpu, mem Grant
	was      cluster.Resources // previous reservation, in from
	from, to cluster.PoolID
}

func (o *Op) target(cpu, mem Grant, at cluster.PoolID) target {
	g := target{cpu, mem, reserved(cpu, mem), at, at}
	if o.Sets&SetsCPU != 0 {
		g.cpu = o.CPU
	}
	if o.Sets&SetsMem != 0 {
		g.mem = o.Mem
	}
	return g
}

// obstacle is why a host would reject an operation; zero if it would not.
func (t *Tree) obstacle(o *Op) obstacle {
	if o.Verb > LeaveVM {
		return obstacle{why: unknownVerb}
	}
	if o.Verb.ofVM() {
		return t.vmObstacle(o)
	}
	i, found := t.pool(o.Pool)
	switch {
	case o.Verb == CreatePool && found:
		return obstacle{why: poolThere, id: int32(o.Pool)}
	case o.Verb == CreatePool && o.Pool < 0:
		return obstacle{why: badID, id: int32(o.Pool)}
	case o.Verb == CreatePool:
		return t.room(target{cpu: o.CPU, mem: o.Mem, from: cluster.Nowhere, to: o.Parent})
	case !found:
		return obstacle{why: noPool, id: int32(o.Pool)}
	case o.Pool == 0 && o.Verb != ChangePool:
		return obstacle{why: isRoot}
	case o.Verb == DestroyPool && t.held[i].children > 0:
		return obstacle{why: notEmpty, need: int64(t.held[i].children)}
	case o.Verb == DestroyPool:
		return obstacle{}
	}
	p := &t.pools[i]
	g := o.target(p.CPU, p.Mem, p.Parent)
	if o.Verb == MovePool {
		g.to = o.Parent
		if t.inside(o.Parent, o.Pool) {
			return obstacle{why: insideItself, id: int32(o.Parent)}
		}
	}
	if no := grants(g.cpu, g.mem); no.why != nothing {
		return no
	}
	if no := fits(g.cpu, g.mem, t.held[i].used); no.why != nothing || o.Pool == 0 {
		return no
	}
	return t.room(g)
}

func (t *Tree) vmObstacle(o *Op) obstacle {
	i, found := t.vm(o.VM)
	switch {
	case o.Verb == EnterVM && found:
		return obstacle{why: vmThere, id: int32(o.VM)}
	case o.Verb == EnterVM:
		return t.room(target{cpu: o.CPU, mem: o.Mem, from: cluster.Nowhere, to: o.Pool})
	case !found:
		return obstacle{why: noVM, id: int32(o.VM)}
	case o.Verb == LeaveVM:
		return obstacle{}
	}
	v := &t.vms[i]
	g := o.target(v.CPU, v.Mem, v.Pool)
	if o.Verb == MoveVM {
		g.to = o.Pool
	}
	return t.room(g)
}

// inside reports whether a pool is another one or below it.
func (t *Tree) inside(p, of cluster.PoolID) bool {
	for range t.pools {
		if p == of {
			return true
		}
		i, found := t.pool(p)
		if !found {
			return false
		}
		p = t.pools[i].Parent
	}
	return false
}

// room reports whether grants are valid and fit into their pool.
func (t *Tree) room(g target) obstacle {
	if no := grants(g.cpu, g.mem); no.why != nothing {
		return no
	}
	i, found := t.pool(g.to)
	if !found {
		return obstacle{why: noPool, id: int32(g.to)}
	}
	p, used := &t.pools[i], t.held[i].used
	if g.from == g.to {
		used = used.Minus(g.was)
	}
	left := reserved(p.CPU, p.Mem).Minus(used)
	switch need := reserved(g.cpu, g.mem); {
	case need.CPU > left.CPU:
		return obstacle{why: noRoom, id: int32(p.ID), need: need.CPU, have: left.CPU}
	case need.Memory > left.Memory:
		return obstacle{why: noRoom, resource: cluster.Memory, id: int32(p.ID), need: need.Memory, have: left.Memory}
	}
	return obstacle{}
}

// do performs an operation that has no obstacle.
func (t *Tree) do(o *Op) {
	if o.Verb.ofVM() {
		t.doVM(o)
		return
	}
	i, _ := t.pool(o.Pool)
	switch o.Verb {
	case CreatePool:
		t.pools = slices.Insert(t.pools, i, Pool{ID: o.Pool, Parent: o.Parent, Name: o.Name, CPU: o.CPU, Mem: o.Mem})
		t.held = slices.Insert(t.held, i, held{})
		t.charge(o.Parent, reserved(o.CPU, o.Mem), 1)
		return
	case DestroyPool:
		p := t.pools[i]
		t.charge(p.Parent, reserved(p.CPU, p.Mem), -1)
		t.pools, t.held = slices.Delete(t.pools, i, i+1), slices.Delete(t.held, i, i+1)
		return
	}
	p := &t.pools[i]
	g := o.target(p.CPU, p.Mem, p.Parent)
	if o.Verb == MovePool {
		g.to = o.Parent
	}
	if o.Sets&SetsName != 0 {
		p.Name = o.Name
	}
	t.shift(g)
	p.CPU, p.Mem, p.Parent = g.cpu, g.mem, g.to
}

func (t *Tree) doVM(o *Op) {
	i, _ := t.vm(o.VM)
	switch o.Verb {
	case EnterVM:
		t.vms = slices.Insert(t.vms, i, VM{VM: o.VM, Pool: o.Pool, CPU: o.CPU, Mem: o.Mem})
		t.charge(o.Pool, reserved(o.CPU, o.Mem), 1)
		return
	case LeaveVM:
		v := t.vms[i]
		t.charge(v.Pool, reserved(v.CPU, v.Mem), -1)
		t.vms = slices.Delete(t.vms, i, i+1)
		return
	}
	v := &t.vms[i]
	g := o.target(v.CPU, v.Mem, v.Pool)
	if o.Verb == MoveVM {
		g.to = o.Pool
	}
	t.shift(g)
	v.CPU, v.Mem, v.Pool = g.cpu, g.mem, g.to
}

// shift moves a reservation from one pool to another.
func (t *Tree) shift(g target) {
	t.charge(g.from, g.was, -1)
	t.charge(g.to, reserved(g.cpu, g.mem), 1)
}

// charge adds a child to a pool, or subtracts it if sign is -1. The root is in none.
func (t *Tree) charge(in cluster.PoolID, r cluster.Resources, sign int64) {
	if i, found := t.pool(in); found {
		h := &t.held[i]
		h.used = h.used.Plus(cluster.Resources{CPU: sign * r.CPU, Memory: sign * r.Memory})
		h.children += int(sign)
	}
}
