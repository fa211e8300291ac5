package divvy

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy/hosttree"
)

// part is a pool's share of one resource on one host.
type part struct {
	need  int64 // reservations of VMs, in the pool and below
	own   int64 // reservations of VMs in the pool itself
	want  int64 // portions of the pools' reservations
	limit int64 // portions of the pools' limits
	here  int64 // entitlements
	count int64
}

// hosts builds the copies of the pools for all hosts.
type hosts struct {
	e        *Entitlements
	most     int64 // maximum reservation of a VM, so that no sum overflows
	reserved [2]division
	limited  [2]division
	all      [2][]part // by pool, of all hosts
	parts    [2][]part // by pool, of the current host
	kids     []int32
	claims   []claim
	filler   filler
}

// HostTrees is each host's copy of the pools in a layout, by host. A pool's reservation and
// limit are divided among its VMs like capacity, and a host's copy has the portions of its
// VMs. Its shares are in proportion to their entitlements. The root has the host's capacity.
// Where the portions of reservations exceed that, the pools there get less, by shares, but
// never less than their VMs reserve. Where those alone exceed it, the root has their sum.
func (e *Entitlements) HostTrees(l *cluster.Layout) []*hosttree.Tree {
	e.Settle()
	h := &hosts{e: e, most: mostAmount / int64(len(e.tree.parent))}
	for _, r := range cluster.BothResources {
		floors := int64(0)
		for _, k := range e.tree.children(0) {
			floors = plus(floors, e.terms[r][k].floor)
		}
		h.reserved[r] = newDivision(&e.tree, e.terms[r], min(floors, e.split[r].give[0]))
		h.reserved[r].settle(&e.tree, e.terms[r])
		h.limited[r] = newDivision(&e.tree, e.terms[r], mostAmount)
		h.limited[r].settle(&e.tree, e.terms[r])
		h.all[r], h.parts[r] = make([]part, e.tree.pools), make([]part, e.tree.pools)
		for v := range e.running {
			if l.Host(cluster.VMID(v)) != cluster.Nowhere {
				h.add(r, h.all[r], cluster.VMID(v))
			}
		}
	}
	trees := make([]*hosttree.Tree, len(e.c.Hosts))
	for i := range trees {
		trees[i] = h.tree(l, cluster.HostID(i))
	}
	return trees
}

// needs is a VM's own reservation.
func (h *hosts) needs(r cluster.Resource, v cluster.VMID) int64 {
	return min(h.e.terms[r][h.e.tree.leaf(v)].floor, h.most)
}

// add adds a VM to its pool and to those above.
func (h *hosts) add(r cluster.Resource, parts []part, v cluster.VMID) {
	if !h.e.running[v] {
		return
	}
	n, need := h.e.tree.leaf(v), h.needs(r, v)
	want := max(need, h.reserved[r].give[n])
	p := h.e.tree.parent[n]
	parts[p].own += need
	for ; p >= 0; p = h.e.tree.parent[p] {
		x := &parts[p]
		x.need, x.want = x.need+need, x.want+want
		x.limit, x.here = x.limit+h.limited[r].give[n], x.here+h.e.split[r].give[n]
		x.count++
	}
}

// tree is the copy of one host.
func (h *hosts) tree(l *cluster.Layout, id cluster.HostID) *hosttree.Tree {
	for _, r := range cluster.BothResources {
		clear(h.parts[r])
		for _, v := range l.On(id) {
			h.add(r, h.parts[r], v)
		}
		h.parts[r][0].want = max(within(r.Of(h.e.x.Capacity(id))), h.parts[r][0].need)
		h.clip(r)
	}
	var pools []hosttree.Pool
	for p := range h.e.tree.pools {
		if p == 0 || h.parts[cluster.CPU][p].count > 0 {
			pools = append(pools, h.pool(int32(p)))
		}
	}
	vms := make([]hosttree.VM, 0, len(l.On(id)))
	for _, v := range l.On(id) {
		if h.e.running[v] {
			pool := cluster.PoolID(h.e.tree.parent[h.e.tree.leaf(v)])
			vms = append(vms, hosttree.VM{VM: v, Pool: pool, CPU: h.own(cluster.CPU, v), Mem: h.own(cluster.Memory, v)})
		}
	}
	slices.SortFunc(vms, func(a, b hosttree.VM) int { return cmp.Compare(a.VM, b.VM) })
	return hosttree.Of(pools, vms) // every pool's parent precedes it and includes the same VMs
}

// own is a VM's configured allocation, with the hypervisor's overhead.
func (h *hosts) own(r cluster.Resource, v cluster.VMID) hosttree.Grant {
	vm := &h.e.c.VMs[v]
	g := hosttree.Grant{Reservation: h.needs(r, v), Limit: cluster.Unlimited, Shares: max(1, h.e.terms[r][h.e.tree.leaf(v)].weight)}
	if limit := allocationOf(r, vm.CPU, vm.Mem).Limit; limit < mostAmount {
		if g.Limit = within(limit); r == cluster.Memory {
			g.Limit += within(vm.Overhead)
		}
	}
	return g
}

func (h *hosts) pool(p int32) hosttree.Pool {
	t := hosttree.Pool{ID: cluster.PoolID(p), Parent: cluster.PoolID(h.e.tree.parent[p])}
	if int(p) < len(h.e.c.Pools) {
		t.Name = h.e.c.Pools[p].Name
	}
	for _, r := range cluster.BothResources {
		x, g := &h.parts[r][p], grantOf(r, &t.CPU, &t.Mem)
		*g = hosttree.Grant{Reservation: x.want, Limit: x.want, Shares: h.shares(r, p)}
		if p == 0 {
			continue
		}
		g.Limit = cluster.Unlimited
		if h.e.sides[r].pools[p].Limit < mostAmount {
			g.Limit = max(x.limit, x.want)
		}
	}
	return t
}

// shares is the portion of a pool's shares for its VMs on the host: by entitlement, or by
// number if no VM is entitled to anything.
func (h *hosts) shares(r cluster.Resource, p int32) int64 {
	here, all, weight := &h.parts[r][p], &h.all[r][p], h.e.terms[r][p].weight
	switch {
	case all.here > 0:
		return max(1, portion(weight, here.here, all.here))
	case all.count > 0:
		return max(1, portion(weight, here.count, all.count))
	}
	return max(1, weight)
}

// clip reduces the pools' reservations to the host's capacity, from the root down.
func (h *hosts) clip(r cluster.Resource) {
	parts := h.parts[r]
	for p := range h.e.tree.pools {
		if p > 0 && parts[p].count == 0 {
			continue
		}
		h.kids, h.claims = h.kids[:0], h.claims[:0]
		wanted, room := int64(0), parts[p].want-parts[p].own
		for _, k := range h.e.tree.children(int32(p)) {
			if int(k) >= h.e.tree.pools {
				break
			}
			if x := &parts[k]; x.count > 0 {
				h.kids = append(h.kids, k)
				h.claims = append(h.claims, claim{floor: x.need, most: x.want, weight: h.shares(r, k)})
				wanted += x.want
			}
		}
		if wanted <= room {
			continue
		}
		h.filler.fill(h.claims, room)
		for i, k := range h.kids {
			parts[k].want = h.claims[i].give
		}
	}
}

func grantOf(r cluster.Resource, cpu, mem *hosttree.Grant) *hosttree.Grant {
	if r == cluster.CPU {
		return cpu
	}
	return mem
}
