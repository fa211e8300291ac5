package divvy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/divvy/hosttree"
	"plimsoll/internal/effort"
)

// twoHosts has a pool of four VMs, three of which run on the first host, and a pool
// that is on the second host only.
func twoHosts() small {
	s := newSmall()
	s.Hosts = nil
	for _, name := range []string{"one", "two"} {
		s.Hosts = append(s.Hosts, cluster.Host{Name: name, State: cluster.Connected, Sockets: 1, NodesPerSocket: 1, CoresPerNode: 16, ThreadsPerCore: 2, MHz: 2500, Memory: 64 << 30, Factor: 1000})
	}
	p := s.pool("p", "root", cluster.ShareNormal)
	p.CPU.Reservation, p.CPU.Limit = 8_000, 16_000
	s.pool("inner", "p", cluster.ShareHigh)
	s.pool("other", "root", cluster.ShareLow)
	for _, name := range []string{"a", "b", "c"} {
		s.vm(name, "p", 2000)
	}
	s.vm("d", "p", 2000).Host = 1
	s.vm("e", "other", 1000).Host = 1
	s.vm("off", "inner", 1000).Host = cluster.Nowhere
	s.VMs[s.at["a"]].CPU.Reservation = 1_000
	return s
}

func trees(c *cluster.Cluster) []*hosttree.Tree {
	x := cluster.NewIndex(c)
	var all cluster.Resources
	for h := range c.Hosts {
		all = all.Plus(x.Capacity(cluster.HostID(h)))
	}
	return Divide(c, x, all, nil).HostTrees(cluster.NewLayout(c, x))
}

func named(t *hosttree.Tree, name string) hosttree.Pool {
	i := slices.IndexFunc(t.Pools(), func(p hosttree.Pool) bool { return p.Name == name })
	if i < 0 {
		return hosttree.Pool{ID: -1}
	}
	return t.Pools()[i]
}

func TestHostTreesByHand(t *testing.T) {
	s := twoHosts()
	list := trees(s.Cluster)
	one, two := list[0], list[1]
	if named(one, "inner").ID != -1 || named(two, "inner").ID != -1 || named(one, "other").ID != -1 || named(two, "other").ID < 0 {
		t.Errorf("pools without VMs there: %+v and %+v", one.Pools(), two.Pools())
	}
	cpu := func(reservation, limit, shares int64) hosttree.Grant {
		return hosttree.Grant{Reservation: reservation, Limit: limit, Shares: shares}
	}
	for _, c := range []struct {
		host *hosttree.Tree
		pool string
		want hosttree.Grant
	}{
		// Each VM gets 2,000 of the 8,000 MHz that are reserved, 4,000 of the limit, and a
		// quarter of the 4,000 shares.
		{one, "p", cpu(6_000, 12_000, 3_000)},
		{two, "p", cpu(2_000, 4_000, 1_000)},
		{two, "other", cpu(0, cluster.Unlimited, 2_000)},
		{one, "root", cpu(40_000, 40_000, 1)},
	} {
		if got := named(c.host, c.pool).CPU; got != c.want {
			t.Errorf("%s has %v, want %v", c.pool, got, c.want)
		}
	}
	a := vmsOf(t, one)[0]
	if want := (hosttree.Grant{Reservation: 1_000, Limit: cluster.Unlimited, Shares: 2_000}); a.CPU != want || a.Pool != 1 || len(vmsOf(t, one)) != 3 || len(vmsOf(t, two)) != 2 {
		t.Errorf("%+v, want %v", a, want)
	}
}

// TestHostRunsShort: reservations of pools that do not fit on a host are cut, those of
// VMs never.
func TestHostRunsShort(t *testing.T) {
	s := twoHosts()
	s.Hosts[0].CoresPerNode = 2
	s.Hosts[1].CoresPerNode = 30
	s.VMs[s.at["a"]].CPU.Reservation = 4_900
	s.Pools[1].CPU.Reservation = 30_000
	s.Pools[1].CPU.Limit = cluster.Unlimited
	one := trees(s.Cluster)[0]
	if got := named(one, "p").CPU.Reservation; got != 5_000 {
		t.Errorf("the pool reserves %d of 5000 MHz", got)
	}
	s.VMs[s.at["b"]].CPU.Reservation = 4_900
	one = trees(s.Cluster)[0]
	if root, p := named(one, "root").CPU.Reservation, named(one, "p").CPU.Reservation; root != 9_800 || p != 9_800 {
		t.Errorf("what VMs reserve beyond the host: the root has %d, the pool %d", root, p)
	}
}

// checkHosts checks properties of any cluster's host trees.
func checkHosts(t *testing.T, c *cluster.Cluster, e *Entitlements, l *cluster.Layout) {
	t.Helper()
	sum := make([][2]hosttree.Grant, e.tree.pools)
	need := make([][2]int64, e.tree.pools)
	seen := 0
	for h, tree := range e.HostTrees(l) {
		vms := vmsOf(t, tree)
		if made, err := hosttree.New(tree.Pools(), vms); err != nil || !same(t, made, tree) {
			t.Fatalf("host %d is not what is made of its lists: %v", h, err)
		}
		there := map[cluster.PoolID]bool{0: true}
		for _, v := range vms {
			seen++
			if l.Host(v.VM) != cluster.HostID(h) || !e.running[v.VM] {
				t.Fatalf("VM %d is not on host %d", v.VM, h)
			}
			for p := int32(v.Pool); p >= 0; p = e.tree.parent[p] {
				there[cluster.PoolID(p)] = true
				need[p][cluster.CPU] = plus(need[p][cluster.CPU], v.CPU.Reservation)
				need[p][cluster.Memory] = plus(need[p][cluster.Memory], v.Mem.Reservation)
			}
		}
		if len(there) != len(tree.Pools()) {
			t.Fatalf("host %d has %d pools, and VMs in %d", h, len(tree.Pools()), len(there))
		}
		for _, p := range tree.Pools() {
			for _, r := range cluster.BothResources {
				g, into := grantOf(r, &p.CPU, &p.Mem), &sum[p.ID][r]
				into.Reservation, into.Limit, into.Shares = plus(into.Reservation, g.Reservation), plus(into.Limit, within(g.Limit)), into.Shares+g.Shares
			}
		}
	}
	for p := 1; p < e.tree.pools; p++ {
		for _, r := range cluster.BothResources {
			x, got := e.terms[r][p], sum[p][r]
			// Below the root's children, a pool's reservation is divided among its children.
			if limit := e.sides[r].pools[p].Limit; e.tree.parent[p] == 0 && got.Reservation > x.floor+need[p][r] || limit < mostAmount && got.Limit > limit+got.Reservation {
				t.Fatalf("%v of pool %d: hosts reserve %d of %d with %d needed, limits add up to %d of %d", r, p, got.Reservation, x.floor, need[p][r], got.Limit, limit)
			}
			if got.Shares > x.weight+int64(len(c.Hosts)) {
				t.Fatalf("%v of pool %d: hosts have %d of %d shares", r, p, got.Shares, x.weight)
			}
		}
	}
	for v := range c.VMs {
		if e.running[v] && l.Host(cluster.VMID(v)) != cluster.Nowhere {
			seen--
		}
	}
	if seen != 0 {
		t.Fatalf("%d VMs too many", seen)
	}
}

func TestHostTreesOfAnyCluster(t *testing.T) {
	g := rand.New(rand.NewPCG(17, 18))
	for range often(1500) {
		c := random(g)
		x := cluster.NewIndex(c)
		l := cluster.NewLayout(c, x)
		for i := range c.VMs {
			if g.IntN(5) == 0 {
				l.Move(cluster.VMID(i), cluster.HostID(g.IntN(len(c.Hosts)+1)-1))
			}
		}
		e := Divide(c, x, cluster.Resources{CPU: g.Int64N(3000), Memory: g.Int64N(3000)}, func(v cluster.VMID) bool { return v%6 != 5 })
		checkHosts(t, c, e, l)
		before := e.HostTrees(l)
		for i := range c.VMs {
			e.Update(cluster.VMID(i), cluster.Resources{CPU: g.Int64N(200), Memory: g.Int64N(200)})
			l.Move(cluster.VMID(i), cluster.HostID(g.IntN(len(c.Hosts))))
		}
		for h, to := range e.HostTrees(l) {
			checkSync(t, before[h], to)
		}
	}
}

// TestHostTreesKnowNoOrder: the order of a cluster's lists affects ids only.
func TestHostTreesKnowNoOrder(t *testing.T) {
	g := rand.New(rand.NewPCG(19, 20))
	for range often(500) {
		c := random(g)
		byName := func(c *cluster.Cluster) map[string][2]hosttree.Grant {
			m := map[string][2]hosttree.Grant{}
			for h, t := range trees(c) {
				for _, p := range t.Pools() {
					m[c.Hosts[h].Name+" "+p.Name] = [2]hosttree.Grant{p.CPU, p.Mem}
				}
			}
			return m
		}
		want := byName(c)
		for name, got := range byName(shuffled(g, c)) {
			if got != want[name] {
				t.Fatalf("%s: %v, want %v", name, got, want[name])
			}
		}
	}
}

// same reports whether two trees have the same content.
func same(t testing.TB, a, b *hosttree.Tree) bool {
	return slices.Equal(a.Pools(), b.Pools()) && slices.Equal(vmsOf(t, a), vmsOf(t, b)) && hosttree.Diff(a, b, hosttree.Precise()).Skipped == len(a.Pools())
}

// vmsOf are the VMs that enter a host's tree when it is built.
func vmsOf(t testing.TB, tree *hosttree.Tree) (vms []hosttree.VM) {
	t.Helper()
	empty, err := hosttree.New(tree.Pools()[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range hosttree.Diff(empty, tree, hosttree.Precise()).Ops {
		if o.Verb == hosttree.EnterVM {
			vms = append(vms, hosttree.VM{VM: o.VM, Pool: o.Pool, CPU: o.CPU, Mem: o.Mem})
		}
	}
	slices.SortFunc(vms, func(a, b hosttree.VM) int { return int(a.VM - b.VM) })
	return vms
}

// checkSync follows the operations from one tree to another, to the unit and with a tolerance.
func checkSync(t testing.TB, from, to *hosttree.Tree) {
	t.Helper()
	for _, keep := range []hosttree.Tolerance{hosttree.Precise(), hosttree.DefaultTolerance()} {
		s, got := hosttree.Diff(from, to, keep), from.Clone()
		if n, err := got.Apply(s.Ops...); err != nil || n != len(s.Ops) {
			t.Fatalf("operation %d of %v is refused: %v", n, s.Ops, err)
		}
		if _, err := hosttree.New(got.Pools(), vmsOf(t, got)); err != nil {
			t.Fatal(err)
		}
		if keep.PerMille == 0 && !same(t, got, to) {
			t.Fatalf("%v leads to %+v and not to %+v", s.Ops, got, to)
		}
		if again := hosttree.Diff(got, to, keep); len(again.Ops) != 0 || len(s.Ops) > s.Rebuild {
			t.Fatalf("%d operations of at most %d, and then %v", len(s.Ops), s.Rebuild, again.Ops)
		}
	}
}

// Whatever the order of the later snapshot's pools and VMs, its trees are the same under the
// ids of the earlier one.
func TestOrderOfListsDoesNotCount(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for seed := range uint64(effort.Of(60)) {
		before := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 3, VMs: 24, Load: .7, Pools: 6, Placed: true})
		later := *before
		later.VMs = slices.Clone(before.VMs)
		for range r.IntN(4) {
			later.VMs[r.IntN(len(later.VMs))].Host = cluster.HostID(r.IntN(3))
		}
		after := shuffled(r, &later)
		n, err := hosttree.Match(before, after)
		if err != nil {
			t.Fatal(err)
		}
		from, want, list := trees(before), trees(&later), trees(after)
		for h := range list {
			to, err := n.Renumber(list[h])
			if err != nil {
				t.Fatal(err)
			}
			if !same(t, to, want[h]) {
				t.Fatalf("seed %d, host %d: %+v, want %+v", seed, h, to, want[h])
			}
			for _, p := range to.Pools() {
				if n.PoolName(p.ID) != p.Name {
					t.Fatalf("pool %d is %q and %q", p.ID, n.PoolName(p.ID), p.Name)
				}
			}
			done := from[h].Clone()
			if _, err := done.Apply(hosttree.Diff(from[h], to, hosttree.Precise()).Ops...); err != nil || !same(t, done, to) {
				t.Fatalf("seed %d, host %d: %v", seed, h, err)
			}
		}
	}
}
