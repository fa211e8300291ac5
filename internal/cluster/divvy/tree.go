package divvy

import (
	"math/bits"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
)

// tree is the pools with the VMs as leaves. Its nodes are small integers: first the pools, in
// their order, then the VMs.
type tree struct {
	pools  int
	parent []int32 // of the root: -1
	first  []int32 // by pool: index of its first child in kids; one more at the end
	kids   []int32 // pools before VMs, each by name
}

// newTree is the tree of a cluster. Children are ordered by name, which decides odd units, so
// the order of a snapshot's lists has no influence. A pool whose parent does not precede it is
// put below the root.
func newTree(c *cluster.Cluster) tree {
	t := poolTree(c, len(c.VMs))
	pools := t.pools
	t.first, t.kids = make([]int32, pools+1), make([]int32, pools-1+len(c.VMs))
	for i := range c.VMs {
		t.parent[pools+i] = under(c.VMs[i].Pool, pools)
	}
	for _, p := range t.parent[1:] {
		t.first[p+1]++
	}
	for i := range pools {
		t.first[i+1] += t.first[i]
	}
	next := slices.Clone(t.first)
	for i := 1; i < len(t.parent); i++ {
		p := t.parent[i]
		t.kids[next[p]] = int32(i)
		next[p]++
	}
	name := func(n int32) string {
		if int(n) < pools {
			return c.Pools[n].Name
		}
		return c.VMs[int(n)-pools].Name
	}
	for p := range pools {
		slices.SortStableFunc(t.children(int32(p)), func(a, b int32) int {
			if inner := int32(pools); (a < inner) != (b < inner) {
				return int(a - b)
			}
			return strings.Compare(name(a), name(b))
		})
	}
	return t
}

// poolTree is a tree of the pools alone, with space for the parents of VMs.
func poolTree(c *cluster.Cluster, vms int) tree {
	pools := max(1, len(c.Pools))
	t := tree{pools: pools, parent: make([]int32, pools, pools+vms)}
	t.parent[0] = -1
	for i := 1; i < pools; i++ {
		t.parent[i] = under(c.Pools[i].Parent, i)
	}
	t.parent = t.parent[:pools+vms]
	return t
}

func under(p cluster.PoolID, below int) int32 {
	if p < 0 || int(p) >= below {
		return 0
	}
	return int32(p)
}

func (t *tree) children(p int32) []int32 { return t.kids[t.first[p]:t.first[p+1]] }

// leaf is the node of a VM.
func (t *tree) leaf(v cluster.VMID) int32 { return int32(t.pools) + int32(v) }

// terms are a node's terms in its parent's division of one resource.
type terms struct {
	floor  int64 // minimum
	want   int64 // served before the rest is distributed
	most   int64 // maximum
	weight int64
}

// side is one resource, CPU or memory, of a cluster's pools and VMs.
type side struct {
	pools []cluster.Allocation
	scale []scale // of pools with scalable shares; zero for others
}

// scale is the factor of shares in a pool relative to a sibling of the lowest level: by/of.
type scale struct{ by, of int64 }

// newSide collects one resource of the pools.
func newSide(c *cluster.Cluster, t *tree, r cluster.Resource) side {
	s := side{pools: make([]cluster.Allocation, t.pools), scale: make([]scale, t.pools)}
	lowest := make([]int64, t.pools) // by parent
	given := make([]int64, t.pools)
	for i := range c.Pools {
		p := &c.Pools[i]
		s.pools[i] = tidy(allocationOf(r, p.CPU, p.Mem))
		if i == 0 || !p.Scalable && !c.Settings.ScalablePool {
			continue
		}
		given[i] = s.pools[i].Shares
		if p.Level.Factor() > 0 {
			given[i] = r.Of(asResources(cluster.PoolShares(p.Level)))
		}
		if at := &lowest[t.parent[i]]; *at == 0 || given[i] < *at {
			*at = given[i]
		}
	}
	for i, g := range given {
		if g > 0 {
			s.scale[i] = scale{g, lowest[t.parent[i]]}
		}
	}
	return s
}

func asResources(cpu, memory int64) cluster.Resources {
	return cluster.Resources{CPU: cpu, Memory: memory}
}

// tidy clamps an allocation to the bounds of the arithmetic; a reservation above the limit
// counts as the limit.
func tidy(a cluster.Allocation) cluster.Allocation {
	a.Limit = within(a.Limit)
	a.Reservation = min(within(a.Reservation), a.Limit)
	a.Shares = max(1, min(a.Shares, mostWeight))
	return a
}

// leafTerms are the terms of a running VM.
func leafTerms(a cluster.Allocation, demand, size int64) terms {
	a = tidy(a)
	want := min(a.Limit, max(a.Reservation, within(demand)))
	return terms{floor: a.Reservation, want: want, most: max(want, min(a.Limit, within(size))), weight: a.Shares}
}

// poolTerms derive from the terms of the children.
func (s *side) poolTerms(t *tree, all []terms, p int32) terms {
	var need, want, most, weight int64
	for _, k := range t.children(p) {
		c := &all[k]
		need, want, most, weight = plus(need, c.floor), plus(want, c.want), plus(most, c.most), plus(weight, c.weight)
	}
	a := &s.pools[p]
	sum := terms{floor: a.Reservation, weight: a.Shares}
	if a.Expandable {
		sum.floor = min(a.Limit, max(a.Reservation, need))
	}
	sum.want = min(a.Limit, max(a.Reservation, want))
	sum.most = min(a.Limit, max(sum.want, most))
	if f := s.scale[p]; f.by > 0 && weight > 0 {
		sum.weight = max(1, min(portion(weight, f.by, f.of), mostWeight))
	}
	return sum
}

// portion is a*b/of, rounded down and capped at the bound.
func portion(a, b, of int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if of <= 0 || hi >= uint64(of) {
		return mostSum
	}
	q, _ := bits.Div64(hi, lo, uint64(of))
	return int64(min(q, mostSum))
}
