// Package divvy divides the capacity of a cluster over its tree of resource pools, whose
// leaves are the running VMs: the entitlement of each to CPU and memory. It also decides
// admission of reservations, computes each host's copy of the tree, and the operations that
// update one copy to the next.
//
// Each pool divides its amount in two passes. The first gives children between their
// reservation and their demand, in proportion to shares. The second gives the rest beyond
// demand, up to limit or size. All numbers are integers, fractions are compared exactly, and
// an odd unit goes to the largest remainder, then by name. So the result does not depend on
// the order of pools in a snapshot. Rounding by largest remainder can take one unit from a
// child when the amount grows by one; apart from that, a larger amount never gives any child
// less.
//
// Source: Gulati and others, "VMware Distributed Resource Management: Design, Implementation,
// and Lessons Learned" (VMware Technical Journal, March 2012).
package divvy

import (
	"plimsoll/internal/cluster"
)

// allocationOf is one of the two allocations.
func allocationOf(r cluster.Resource, cpu, memory cluster.Allocation) cluster.Allocation {
	if r == cluster.CPU {
		return cpu
	}
	return memory
}

// Entitlements are the entitlements of VMs and pools. Update, UpdateAll and reads change
// internal state: only one goroutine may use them, unless nothing changes after Settle.
type Entitlements struct {
	c       *cluster.Cluster
	x       *cluster.Index
	tree    tree
	core    int64
	sides   [2]side
	running []bool
	demand  []cluster.Resources
	terms   [2][]terms // by node; the root's are unused
	split   [2]division
}

// Divide divides a capacity among the running VMs: those with a host if running is nil. It
// ignores the allocation of the root pool, whose capacity is given. Demand comes from the
// index.
func Divide(c *cluster.Cluster, x *cluster.Index, capacity cluster.Resources, running func(cluster.VMID) bool) *Entitlements {
	e := &Entitlements{c: c, x: x, tree: newTree(c), core: cluster.CoreSpeed(c),
		running: make([]bool, len(c.VMs)), demand: make([]cluster.Resources, len(c.VMs))}
	for i := range c.VMs {
		v := cluster.VMID(i)
		e.demand[i] = x.Demand(v)
		e.running[i] = c.VMs[i].Host != cluster.Nowhere
		if running != nil {
			e.running[i] = running(v)
		}
	}
	for _, r := range cluster.BothResources {
		e.sides[r] = newSide(c, &e.tree, r)
		e.terms[r] = make([]terms, len(e.tree.parent))
		for i := range c.VMs {
			e.terms[r][e.tree.pools+i] = e.vm(r, cluster.VMID(i))
		}
		for p := e.tree.pools - 1; p >= 0; p-- {
			e.terms[r][p] = e.sides[r].poolTerms(&e.tree, e.terms[r], int32(p))
		}
		e.split[r] = newDivision(&e.tree, e.terms[r], r.Of(capacity))
	}
	e.Settle()
	return e
}

// vm is the input of a VM to the division of a resource: zero while it does not run. Memory
// includes the hypervisor's overhead.
func (e *Entitlements) vm(r cluster.Resource, v cluster.VMID) terms {
	if !e.running[v] {
		return terms{}
	}
	vm := &e.c.VMs[v]
	if r == cluster.CPU {
		return leafTerms(vm.CPU, e.demand[v].CPU, int64(vm.VCPUs)*e.core)
	}
	overhead := within(vm.Overhead)
	a := vm.Mem
	a.Reservation = within(a.Reservation) + overhead
	a.Limit = within(a.Limit) + overhead
	return leafTerms(a, e.demand[v].Memory, within(vm.Memory)+overhead)
}

// VM is the entitlement of a VM: MHz, and bytes with the hypervisor's overhead.
func (e *Entitlements) VM(v cluster.VMID) cluster.Resources { return e.node(e.tree.leaf(v)) }

// Pool is the entitlement of a pool, the upper bound of its children's total. For the root it
// is the capacity.
func (e *Entitlements) Pool(p cluster.PoolID) cluster.Resources { return e.node(int32(p)) }

func (e *Entitlements) node(n int32) cluster.Resources {
	return asResources(e.split[cluster.CPU].at(&e.tree, e.terms[cluster.CPU], n), e.split[cluster.Memory].at(&e.tree, e.terms[cluster.Memory], n))
}

// Demand is the demand of a pool's VMs, each between its reservation and its limit, and
// limited by the pool as well.
func (e *Entitlements) Demand(p cluster.PoolID) cluster.Resources {
	return asResources(e.terms[cluster.CPU][p].want, e.terms[cluster.Memory][p].want)
}

// Overcommit is a pool whose children's minimums exceed its entitlement. Each child gets the
// same part of its minimum.
type Overcommit struct {
	Pool       cluster.PoolID
	Resource   cluster.Resource
	Need, Have int64 // MHz or bytes
}

// Overcommitted lists the pools whose children reserve more than their entitlement, by pool,
// CPU first.
func (e *Entitlements) Overcommitted() []Overcommit {
	e.Settle()
	var list []Overcommit
	for p := range e.tree.pools {
		for _, r := range cluster.BothResources {
			if e.split[r].short[p] {
				need := int64(0)
				for _, k := range e.tree.children(int32(p)) {
					need = plus(need, e.terms[r][k].floor)
				}
				list = append(list, Overcommit{cluster.PoolID(p), r, need, e.split[r].give[p]})
			}
		}
	}
	return list
}
