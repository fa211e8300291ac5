// Package hosttree is a host's copy of the resource pools, and finds the operations that
// update one copy to the next.
package hosttree

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
)

// Grant is the allocation of one resource of a host to a pool or a VM: MHz or bytes.
type Grant struct {
	Reservation int64 // at most the limit
	Limit       int64 // cluster.Unlimited without one
	Shares      int64 // above 0
}

// Pool is a pool in a host's tree. Its id survives a rename and a move to another parent; pool
// 0 is the root, whose reservation is the host's capacity.
type Pool struct {
	ID, Parent cluster.PoolID // the parent of the root is cluster.Nowhere
	Name       string
	CPU, Mem   Grant
}

// VM is a VM in a host's tree.
type VM struct {
	VM       cluster.VMID
	Pool     cluster.PoolID
	CPU, Mem Grant
}

// Tree is a host's copy of the pools: those with VMs there. The reservations in a pool never
// exceed its own. Only Apply changes it.
type Tree struct {
	pools []Pool // by id
	vms   []VM   // by id
	held  []held // by index in pools

	// Derived for Diff when the tree is complete.
	up    []int32 // by index of a pool: index of its parent; -1 for the root
	order []int32 // indexes in pools, parents first
	in    []int32 // by index of a VM: index of its pool
	sums  []digest
}

// held is the content of a pool.
type held struct {
	used     cluster.Resources // reserved
	children int               // pools and VMs
}

// New is the tree of these pools and VMs, in any order. It fails for one that a host would
// reject.
func New(pools []Pool, vms []VM) (*Tree, error) {
	t := &Tree{pools: slices.Clone(pools), vms: slices.Clone(vms)}
	slices.SortStableFunc(t.pools, func(a, b Pool) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(t.vms, func(a, b VM) int { return cmp.Compare(a.VM, b.VM) })
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.complete(); err != nil {
		return nil, err
	}
	for i := range t.pools {
		p := &t.pools[i]
		if o := fits(p.CPU, p.Mem, t.held[i].used); o.why != nothing {
			return nil, fmt.Errorf("pool %d: %w", p.ID, o)
		}
	}
	return t, nil
}

// Of is the tree of valid lists in the order of ids, which it takes over.
func Of(pools []Pool, vms []VM) *Tree {
	t := &Tree{pools: pools, vms: vms}
	_ = t.complete() // the lists are valid
	return t
}

// Pools lists the pools by id. The caller must not change the list.
func (t *Tree) Pools() []Pool { return t.pools }

// Clone is an independent copy.
func (t *Tree) Clone() *Tree {
	n := *t
	n.pools, n.vms, n.held = slices.Clone(t.pools), slices.Clone(t.vms), slices.Clone(t.held)
	return &n
}

// pool is the index of a pool, or where it would be inserted. The two searches are written
// out, because Diff spends most of its time in them.
func (t *Tree) pool(id cluster.PoolID) (int, bool) {
	low, high := 0, len(t.pools)
	for low < high {
		if middle := int(uint(low+high) / 2); t.pools[middle].ID < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(t.pools) && t.pools[low].ID == id
}

// vm is the index of a VM, or where it would be inserted.
func (t *Tree) vm(id cluster.VMID) (int, bool) {
	low, high := 0, len(t.vms)
	for low < high {
		if middle := int(uint(low+high) / 2); t.vms[middle].VM < id {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(t.vms) && t.vms[low].VM == id
}

// check validates pools and VMs one by one.
func (t *Tree) check() error {
	for i := range t.pools {
		p := &t.pools[i]
		switch o := grants(p.CPU, p.Mem); {
		case i > 0 && t.pools[i-1].ID == p.ID:
			return fmt.Errorf("pool %d is listed twice", p.ID)
		case (p.ID == 0) != (p.Parent == cluster.Nowhere):
			return fmt.Errorf("pool %d has the parent %d: pool 0 is the root, and only the root has none", p.ID, p.Parent)
		case o.why != nothing:
			return fmt.Errorf("pool %d: %w", p.ID, o)
		}
	}
	if len(t.pools) == 0 || t.pools[0].ID != 0 {
		return fmt.Errorf("pool 0, the root, is missing, or an id is negative")
	}
	for i := range t.vms {
		v := &t.vms[i]
		if i > 0 && t.vms[i-1].VM == v.VM {
			return fmt.Errorf("VM %d is listed twice", v.VM)
		}
		if o := grants(v.CPU, v.Mem); o.why != nothing {
			return fmt.Errorf("VM %d: %w", v.VM, o)
		}
	}
	return nil
}

// complete computes the derived fields.
func (t *Tree) complete() error {
	t.up, t.in, t.held = make([]int32, len(t.pools)), make([]int32, len(t.vms)), make([]held, len(t.pools))
	for i := range t.pools {
		p := &t.pools[i]
		if t.up[i] = -1; p.Parent == cluster.Nowhere {
			continue
		}
		at, found := t.pool(p.Parent)
		if !found {
			return fmt.Errorf("pool %d is in pool %d, which does not exist", p.ID, p.Parent)
		}
		t.up[i] = int32(at)
		t.held[at].add(reserved(p.CPU, p.Mem))
	}
	for i := range t.vms {
		v := &t.vms[i]
		at, found := t.pool(v.Pool)
		if !found {
			return fmt.Errorf("VM %d is in pool %d, which does not exist", v.VM, v.Pool)
		}
		t.in[i] = int32(at)
		t.held[at].add(reserved(v.CPU, v.Mem))
	}
	if t.order = parentsFirst(t.up); len(t.order) < len(t.pools) {
		return fmt.Errorf("pools form a cycle: %d of %d are below the root", len(t.order), len(t.pools))
	}
	t.digest()
	return nil
}

// add adds a child. A sum that no pool could reserve stays just above the bound.
func (h *held) add(r cluster.Resources) {
	sum := func(a, b int64) int64 {
		if b > mostReserved-a {
			return mostReserved + 1
		}
		return a + b
	}
	h.used = cluster.Resources{CPU: sum(h.used.CPU, r.CPU), Memory: sum(h.used.Memory, r.Memory)}
	h.children++
}

func reserved(cpu, mem Grant) cluster.Resources {
	return cluster.Resources{CPU: cpu.Reservation, Memory: mem.Reservation}
}

// parentsFirst lists all indexes below the root, each after its parent.
func parentsFirst(up []int32) []int32 {
	order := make([]int32, 0, len(up))
	for i, p := range up {
		if int(p) < i {
			order = append(order, int32(i))
		}
	}
	if len(order) == len(up) {
		return order
	}
	below := make([][]int32, len(up))
	order = order[:0]
	for i, p := range up {
		if p < 0 {
			order = append(order, int32(i))
		} else {
			below[p] = append(below[p], int32(i))
		}
	}
	for i := 0; i < len(order); i++ {
		order = append(order, below[order[i]]...)
	}
	return order
}
