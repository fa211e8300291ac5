// Package divvy hands out the capacity of a cluster over its tree of resource pools,
// whose leaves are the VMs that run: what each is entitled to of CPU and of memory.
// It also reports whether a reservation is admitted, what each host's copy of the tree holds
// and by which operations a host gets from one copy to the next.
//
// In each pool the amount is divided in two passes. In the first one, children get
// between their reservation and their demand, in proportion to their shares; only what is
// over then goes beyond demand, up to their limit or size. All numbers are whole, all
// fractions are compared exactly, and an odd unit goes to the largest remainder, then by
// name: the result is the same on every VM, in whatever order a snapshot lists its
// pools. Rounding by largest remainder can take one unit from a child when the
// amount grows by one; apart from such a unit a larger amount never gives anyone less.
//
// Source: Gulati and others, "VMware Distributed Resource Management: Design,
// Implementation, and Lessons Learned" (VMware Technical Journal, March 2012).
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

// Entitlements are what each VM and each pool is entitled to. Update and its kin
// change them, and leave what follows for VMs in other pools to be worked out when
// it is asked for: only one goroutine may use them, unless nothing changes after Settle.
type Entitlements struct {
	c       *cluster.Cluster
	x       *cluster.Index
	tree    tree
	core    int64
	sides   [2]side
	running []bool
	demand  []cluster.Resources
	terms   [2][]terms // by node; what the root's say is not used
	split   [2]division
}

// Divide divides a capacity among the running VMs: those that have a host if running is
// nil. The allocation of the root pool is ignored: its capacity is given. Demand comes from
// the index.
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

// VM is the input of a VM to the division of a resource: zero while it does not run. Memory
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

// Pool is the entitlement of a pool, the limit of its children's total. For the root it is
// the capacity.
func (e *Entitlements) Pool(p cluster.PoolID) cluster.Resources { return e.node(int32(p)) }

func (e *Entitlements) node(n int32) cluster.Resources {
	return asResources(e.split[cluster.CPU].at(&e.tree, e.terms[cluster.CPU], n), e.split[cluster.Memory].at(&e.tree, e.terms[cluster.Memory], n))
}

// Demand is the demand of a pool's VMs, each between its reservation and its limit, and
// limited by the pool as well.
func (e *Entitlements) Demand(p cluster.PoolID) cluster.Resources {
	return asResources(e.terms[cluster.CPU][p].want, e.terms[cluster.Memory][p].want)
}

// Overcommit is a pool whose children must have more of a resource than it is entitled
// to. Each gets the same part of what it must have.
type Overcommit struct {
	Pool       cluster.PoolID
	Resource   cluster.Resource
	Need, Have int64 // MHz or bytes
}

// Overcommitted lists the pools whose children reserve more than they are entitled to, by
// pool, CPU first.
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
