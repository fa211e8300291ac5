package snapshot

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/document"
)

var poolKeys = []string{"name", "parent", "shares", "reservation", "limit", "expandable", "scalable", "pools"}

// rootName is the name of the root pool.
const rootName = "root"

// listed is a pool of the file.
type listed struct {
	pool   cluster.Pool
	at     *document.Node
	parent string
	state  int // of the traversal that orders them
	place  cluster.PoolID
}

// The states of a pool in the traversal.
const (
	unseen = iota
	walking
	placed
)

func (r *reader) allPools(root *document.Node) {
	r.c.Pools = []cluster.Pool{defaultRoot()}
	if n := root.Find("root"); n != nil {
		f := entry.Of(r.in, "pool", rootName, n)
		if r.in.Table(n, "root", []string{"name", "shares", "reservation", "limit", "expandable", "scalable"}) {
			p := pool(&f)
			p.Name, p.Parent = rootName, cluster.Nowhere
			if name := n.Find("name"); name != nil {
				text, _ := entry.ReadName(r.in, name, "pool")
				p.Name = strings.Clone(text)
			}
			r.c.Pools[0] = p
		}
	}
	r.pools.Add(r.c.Pools[0].Name, 0)
	var all []listed
	index := map[string]int{}
	r.collect(root.Find("pools"), r.c.Pools[0].Name, &all, index)
	for i := range all {
		r.place(all, index, i)
	}
}

func defaultRoot() cluster.Pool {
	p := cluster.Pool{Name: rootName, Parent: cluster.Nowhere, Level: cluster.ShareNormal}
	cpu, memory := cluster.PoolShares(p.Level)
	p.CPU = cluster.Allocation{Limit: cluster.Unlimited, Shares: cpu, Expandable: true}
	p.Mem = cluster.Allocation{Limit: cluster.Unlimited, Shares: memory, Expandable: true}
	return p
}

// collect collects the pools of a list and their descendants.
func (r *reader) collect(n *document.Node, parent string, all *[]listed, index map[string]int) {
	kind := entry.Kind{Name: "pool", Keys: poolKeys}
	items := r.in.Items(n, "pools")
	for i := range items {
		f, named := kind.Open(r.in, &items[i])
		p := pool(&f)
		p.Name = strings.Clone(f.Name)
		e := listed{pool: p, at: f.At, parent: parent}
		if n := f.At.Find("parent"); n != nil {
			if e.parent = f.Text(n, "parent"); parent != r.c.Pools[0].Name {
				f.Complain(n, "remove parent: the pool is nested in %s", parent)
			}
		}
		if len(*all) >= r.most.pools {
			r.in.Complain(f.At, "a cluster has at most %d pools", r.most.pools)
			return
		}
		if named {
			if before, taken := index[p.Name]; taken {
				r.in.Complain(f.At.Find("name"), "duplicate name %q of a pool, also in line %d", p.Name, (*all)[before].at.Line)
				named = false
			} else if p.Name == r.c.Pools[0].Name {
				r.in.Complain(f.At.Find("name"), "the name %q is reserved for the root pool", p.Name)
				named = false
			}
		}
		if named {
			index[p.Name] = len(*all)
			*all = append(*all, e)
			r.add("the reservations of all pools", f.At, p.CPU.Reservation+p.Mem.Reservation, 1)
		}
		if n := f.At.Find("pools"); n != nil && named {
			r.collect(n, p.Name, all, index)
		}
	}
}

// pool reads the allocation of a pool.
func pool(f *entry.Entry) cluster.Pool {
	g := readShares(f, cluster.PoolShares)
	p := cluster.Pool{Level: g.level, Scalable: f.Flag("scalable", false)}
	p.CPU, p.Mem = allocation(f, g, cluster.Resources{})
	p.CPU.Expandable, p.Mem.Expandable = true, true
	n := f.Get("expandable")
	if n == nil {
		return p
	}
	if n.Kind == document.Scalar {
		p.CPU.Expandable = f.Flag("expandable", true)
		p.Mem.Expandable = p.CPU.Expandable
	} else if in, ok := f.Inner("expandable", bothKeys); ok {
		p.CPU.Expandable, p.Mem.Expandable = in.Flag("cpu", true), in.Flag("memory", true)
	}
	return p
}

// place puts a pool behind its parent, and otherwise keeps the order of the file.
func (r *reader) place(all []listed, index map[string]int, i int) {
	e := &all[i]
	switch e.state {
	case placed:
		return
	case walking:
		r.in.Complain(e.at, "pool %s: %s", e.pool.Name, cycle(all, index, i))
		return
	}
	e.state = walking
	if e.parent != r.c.Pools[0].Name {
		parent, known := index[e.parent]
		if !known {
			at := e.at.Find("parent")
			r.in.Unknown(at, "pool "+e.pool.Name+": unknown parent", at.Text, slices.Sorted(maps.Keys(index)))
		} else {
			r.place(all, index, parent)
			e.pool.Parent = all[parent].place
		}
	}
	e.state = placed
	id, _ := r.pools.Add(e.pool.Name, e.at.Line)
	e.place = cluster.PoolID(id)
	r.c.Pools = append(r.c.Pools, e.pool)
}

// cycle describes a cycle of pools.
func cycle(all []listed, index map[string]int, from int) string {
	const most = 6
	path := []string{all[from].pool.Name}
	for at := index[all[from].parent]; at != from && len(path) < most; at = index[all[at].parent] {
		path = append(path, all[at].pool.Name)
	}
	return strings.Join(path, " is in ") + " is in " + path[0] + ": pools form a cycle"
}
