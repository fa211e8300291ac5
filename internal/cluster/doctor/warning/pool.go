package warning

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor/words"
)

// rivals finds VMs beside pools with VMs: each of them competes with a whole pool for shares.
func rivals(s indexedCluster) []Warning {
	c := s.c
	var says, all, within []string
	pools, vms, inside := make([][]int, len(c.Pools)), make([][]int, len(c.Pools)), vmsWithin(c)
	for i := range c.Pools {
		if p := c.Pools[i].Parent; p != cluster.Nowhere && inside[i] > 0 {
			pools[p] = append(pools[p], i)
		}
	}
	for i := range c.VMs {
		vms[c.VMs[i].Pool] = append(vms[c.VMs[i].Pool], i)
	}
	for i := range c.Pools {
		if len(pools[i]) == 0 || len(vms[i]) == 0 {
			continue
		}
		var names []string
		strongest := vms[i][0]
		for _, v := range vms[i] {
			names = append(names, c.VMs[v].Name)
			if c.VMs[v].CPU.Shares > c.VMs[strongest].CPU.Shares {
				strongest = v
			}
		}
		weakest := pools[i][0]
		for _, p := range pools[i] {
			if c.Pools[p].CPU.Shares < c.Pools[weakest].CPU.Shares {
				weakest = p
			}
		}
		vm, pool := &c.VMs[strongest], &c.Pools[weakest]
		says = append(says, fmt.Sprintf(
			"pool %s holds %s (%s) beside %s: under contention %s with %d shares gets %.2g times as much as pool %s with its %s and %d shares",
			c.Pools[i].Name, words.Count(len(names), "VM"), words.Named(names), words.Count(len(pools[i]), "pool"),
			vm.Name, vm.CPU.Shares, ratio(vm.CPU.Shares, pool.CPU.Shares), pool.Name, words.Count(int(inside[weakest]), "VM"), pool.CPU.Shares))
		all, within = append(all, names...), append(within, c.Pools[i].Name)
	}
	return gathered(says, Warning{Kind: "VMs beside pools", VMs: all, Pools: within, Do: "move the VMs into a pool of their own"})
}

func ratio(a, b int64) float64 { return float64(a) / float64(max(1, b)) }

// vmsWithin counts VMs by pool, including child pools.
func vmsWithin(c *cluster.Cluster) []int64 {
	n := make([]int64, len(c.Pools))
	for i := range c.VMs {
		p, deep := c.VMs[i].Pool, 0
		for ; p != cluster.Nowhere && deep <= len(c.Pools); deep++ {
			n[p]++
			p = c.Pools[p].Parent
		}
	}
	return n
}

// siblings calls a function with every two pools of one parent whose shares are fixed, in
// both orders.
func siblings(c *cluster.Cluster, with func(i, j int)) {
	by := map[cluster.PoolID][]int{}
	for i := range c.Pools {
		if p := c.Pools[i].Parent; p != cluster.Nowhere && !c.Pools[i].Scalable && !c.Settings.ScalablePool {
			by[p] = append(by[p], i)
		}
	}
	for i := range c.Pools {
		if c.Pools[i].Scalable || c.Settings.ScalablePool {
			continue
		}
		for _, j := range by[c.Pools[i].Parent] {
			if i != j && c.Pools[i].Parent != cluster.Nowhere {
				with(i, j)
			}
		}
	}
}

// pies finds pools with the priority-pie paradox: more shares than a sibling, but fewer per
// VM. Of several siblings, the one with most shares per VM is reported.
func pies(s indexedCluster) []Warning {
	c, vms := s.c, vmsWithin(s.c)
	rival := map[int]int{}
	siblings(c, func(i, j int) {
		a, b := &c.Pools[i], &c.Pools[j]
		if vms[i] == 0 || vms[j] == 0 || a.CPU.Shares <= b.CPU.Shares || a.CPU.Shares*vms[j] >= b.CPU.Shares*vms[i] {
			return
		}
		if k, known := rival[i]; !known || b.CPU.Shares*vms[k] > c.Pools[k].CPU.Shares*vms[j] {
			rival[i] = j
		}
	})
	var says, names []string
	for i := range c.Pools {
		if j, found := rival[i]; found {
			a, b := &c.Pools[i], &c.Pools[j]
			names = append(names, a.Name)
			says = append(says, fmt.Sprintf("pool %s has more shares than %s (%d and %d), but under contention each of its %d VMs gets %.2g times as much as each of the %d in %s",
				a.Name, b.Name, a.CPU.Shares, b.CPU.Shares, vms[i], ratio(a.CPU.Shares*vms[j], b.CPU.Shares*vms[i]), vms[j], b.Name))
		}
	}
	return gathered(says, Warning{Kind: "priority pie", Pools: names, Do: "enable scalable shares, or give " + words.Named(names) + " more shares"})
}

// uneven is the ratio of the numbers of VMs in two pools of equal shares from which it is
// reported.
const uneven = 2

// folders finds pools used as folders: all alike, without reservations and limits, so that
// shares are divided by pools instead of VMs. Of each set of siblings the largest and the
// smallest are reported.
func folders(s indexedCluster) []Warning {
	var says, names []string
	c, vms := s.c, vmsWithin(s.c)
	plain := func(p *cluster.Pool) bool {
		return p.Level == cluster.ShareNormal && p.CPU.Reservation == 0 && p.Mem.Reservation == 0 &&
			p.CPU.Limit == cluster.Unlimited && p.Mem.Limit == cluster.Unlimited
	}
	most, least, alike := map[cluster.PoolID]int{}, map[cluster.PoolID]int{}, map[cluster.PoolID]bool{}
	siblings(c, func(i, j int) {
		parent := c.Pools[i].Parent
		if _, seen := alike[parent]; !seen {
			alike[parent] = true
			most[parent], least[parent] = i, i
		}
		alike[parent] = alike[parent] && plain(&c.Pools[i]) && vms[i] > 0
		if vms[i] > vms[most[parent]] {
			most[parent] = i
		}
		if vms[i] < vms[least[parent]] {
			least[parent] = i
		}
	})
	for p := range c.Pools {
		id := cluster.PoolID(p)
		a, b := most[id], least[id]
		if !alike[id] || vms[a] < uneven*vms[b] {
			continue
		}
		names = append(names, c.Pools[p].Name)
		says = append(says, fmt.Sprintf(
			"the pools in %s all have normal shares, and neither reservations nor limits, like folders: under contention each of the %d VMs in %s gets 1/%.2g of the share of each of the %d in %s",
			c.Pools[p].Name, vms[a], c.Pools[a].Name, ratio(vms[a], vms[b]), vms[b], c.Pools[b].Name))
	}
	return gathered(says, Warning{Kind: "pool as folder", Pools: names, Do: "group VMs by folders or tags, or enable scalable shares"})
}

// crowdedPools finds pools whose entitlement is below their children's reservations.
func crowdedPools(s indexedCluster) []Warning {
	var says, names []string
	e := divvy.Divide(s.c, s.x, s.x.Total(s.c), nil)
	for _, o := range e.Overcommitted() {
		names = append(names, s.c.Pools[o.Pool].Name)
		says = append(says, fmt.Sprintf("pool %s: its children reserve %s of %s, its entitlement is %s", s.c.Pools[o.Pool].Name, words.Amount(o.Resource, o.Need), o.Resource, words.Amount(o.Resource, o.Have)))
	}
	return gathered(says, Warning{Kind: "pool reservation", Pools: slices.Compact(names), Do: "lower reservations in it, or raise its own"})
}
