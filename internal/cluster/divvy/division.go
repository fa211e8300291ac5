package divvy

import "plimsoll/internal/cluster"

// division is the division of one resource down the tree from an amount at its root. A pool is
// stale if its amount or its children's terms changed since it was divided.
type division struct {
	give   []int64 // by node
	short  []bool  // by pool: the minimums of its children are not covered
	stale  []bool  // by pool
	stales int
	claims []claim
	filler filler
}

func newDivision(t *tree, all []terms, amount int64) division {
	d := division{give: make([]int64, len(all)), short: make([]bool, t.pools), stale: make([]bool, t.pools)}
	d.give[0] = within(amount)
	for p := range t.pools {
		d.spoil(int32(p))
	}
	return d
}

// spoil marks a pool to be divided again before anything below it is read.
func (d *division) spoil(p int32) {
	if !d.stale[p] {
		d.stale[p] = true
		d.stales++
	}
}

// at is the amount of a node. It divides stale pools above it, but not pools beside it.
func (d *division) at(t *tree, all []terms, n int32) int64 {
	if d.stales > 0 {
		d.path(t, all, t.parent[n])
	}
	return d.give[n]
}

func (d *division) path(t *tree, all []terms, p int32) {
	if p < 0 {
		return
	}
	d.path(t, all, t.parent[p])
	if d.stale[p] {
		d.divide(t, all, p)
	}
}

// settle divides all stale pools, parents before children.
func (d *division) settle(t *tree, all []terms) {
	for p := 0; p < t.pools && d.stales > 0; p++ {
		if d.stale[p] {
			d.divide(t, all, int32(p))
		}
	}
}

// divide divides the amount of a pool: up to demand in the first pass, the rest in the second.
// In the second pass all children have their demand, so one fill is enough.
func (d *division) divide(t *tree, all []terms, p int32) {
	kids, amount := t.children(p), d.give[p]
	wanted := int64(0)
	for _, k := range kids {
		wanted = plus(wanted, all[k].want)
	}
	d.claims = d.claims[:0]
	for _, k := range kids {
		c := &all[k]
		if amount <= wanted {
			d.claims = append(d.claims, claim{floor: c.floor, most: c.want, weight: c.weight})
		} else {
			d.claims = append(d.claims, claim{floor: c.want, most: c.most, weight: c.weight})
		}
	}
	d.short[p] = !d.filler.fill(d.claims, amount)
	for i, k := range kids {
		if d.give[k] == d.claims[i].give {
			continue
		}
		d.give[k] = d.claims[i].give
		if int(k) < t.pools {
			d.spoil(k)
		}
	}
	d.stale[p] = false
	d.stales--
}

// Update sets a VM's new demand. It visits the VM's pool, and each pool above while something
// changes there; entitlements are computed when they are read. The result equals that of a
// full division.
func (e *Entitlements) Update(v cluster.VMID, demand cluster.Resources) {
	e.demand[v] = demand
	e.refresh(v)
}

// UpdateAll sets new demands of all VMs, at the cost of one full division.
func (e *Entitlements) UpdateAll(demand func(cluster.VMID) cluster.Resources) {
	for i := range e.demand {
		e.demand[i] = demand(cluster.VMID(i))
	}
	for _, r := range cluster.BothResources {
		for i := range e.demand {
			e.terms[r][e.tree.pools+i] = e.vm(r, cluster.VMID(i))
		}
		for p := e.tree.pools - 1; p >= 0; p-- {
			e.terms[r][p] = e.sides[r].poolTerms(&e.tree, e.terms[r], int32(p))
			e.split[r].spoil(int32(p))
		}
	}
}

func (e *Entitlements) refresh(v cluster.VMID) {
	for _, r := range cluster.BothResources {
		all := e.terms[r]
		n, now := e.tree.leaf(v), e.vm(r, v)
		for all[n] != now {
			all[n] = now
			if n = e.tree.parent[n]; n < 0 {
				break
			}
			e.split[r].spoil(n)
			now = e.sides[r].poolTerms(&e.tree, all, n)
		}
	}
}

// Settle recomputes the entitlements of all VMs after changes.
func (e *Entitlements) Settle() {
	for _, r := range cluster.BothResources {
		e.split[r].settle(&e.tree, e.terms[r])
	}
}
