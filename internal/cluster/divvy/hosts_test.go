package divvy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
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

func trees(c *cluster.Cluster) []*HostTree {
	x := cluster.NewIndex(c)
	var all cluster.Resources
	for h := range c.Hosts {
		all = all.Plus(x.Capacity(cluster.HostID(h)))
	}
	return Divide(c, x, all, nil).HostTrees(cluster.NewLayout(c, x))
}

func (t *HostTree) named(name string) HostPool {
	i := slices.IndexFunc(t.pools, func(p HostPool) bool { return p.Name == name })
	if i < 0 {
		return HostPool{ID: -1}
	}
	return t.pools[i]
}

func TestHostTreesByHand(t *testing.T) {
	s := twoHosts()
	list := trees(s.Cluster)
	one, two := list[0], list[1]
	if one.named("inner").ID != -1 || two.named("inner").ID != -1 || one.named("other").ID != -1 || two.named("other").ID < 0 {
		t.Errorf("pools without VMs there: %+v and %+v", one.pools, two.pools)
	}
	cpu := func(reservation, limit, shares int64) Grant { return Grant{reservation, limit, shares} }
	for _, c := range []struct {
		host *HostTree
		pool string
		want Grant
	}{
		// Each VM gets 2,000 of the 8,000 MHz that are reserved, 4,000 of the limit, and a
		// quarter of the 4,000 shares.
		{one, "p", cpu(6_000, 12_000, 3_000)},
		{two, "p", cpu(2_000, 4_000, 1_000)},
		{two, "other", cpu(0, cluster.Unlimited, 2_000)},
		{one, "root", cpu(40_000, 40_000, 1)},
	} {
		if got := c.host.named(c.pool).CPU; got != c.want {
			t.Errorf("%s has %v, want %v", c.pool, got, c.want)
		}
	}
	a := one.vms[0]
	if want := (Grant{1_000, cluster.Unlimited, 2_000}); a.CPU != want || a.Pool != 1 || len(one.vms) != 3 || len(two.vms) != 2 {
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
	if got := one.named("p").CPU.Reservation; got != 5_000 {
		t.Errorf("the pool reserves %d of 5000 MHz", got)
	}
	s.VMs[s.at["b"]].CPU.Reservation = 4_900
	one = trees(s.Cluster)[0]
	if root, p := one.named("root").CPU.Reservation, one.named("p").CPU.Reservation; root != 9_800 || p != 9_800 {
		t.Errorf("what VMs reserve beyond the host: the root has %d, the pool %d", root, p)
	}
}

// checkHosts is what must hold of any cluster's host trees.
func checkHosts(t *testing.T, c *cluster.Cluster, e *Entitlements, l *cluster.Layout) {
	t.Helper()
	sum := make([][2]Grant, e.tree.pools)
	need := make([][2]int64, e.tree.pools)
	seen := 0
	for h, tree := range e.HostTrees(l) {
		if err := legal(tree); err != nil {
			t.Fatalf("host %d: %v\n%+v", h, err, c)
		}
		if made, err := NewHostTree(tree.pools, tree.vms); err != nil || !made.Equal(tree) || made.sums[0] != tree.sums[0] {
			t.Fatalf("host %d is not what is made of its lists: %v", h, err)
		}
		there := map[cluster.PoolID]bool{0: true}
		for _, v := range tree.vms {
			seen++
			if l.Host(v.VM) != cluster.HostID(h) || !e.running[v.VM] {
				t.Fatalf("VM %d is not on host %d", v.VM, h)
			}
			for p := int32(v.Pool); p >= 0; p = e.tree.parent[p] {
				there[cluster.PoolID(p)] = true
				need[p][CPU] = plus(need[p][CPU], v.CPU.Reservation)
				need[p][Memory] = plus(need[p][Memory], v.Mem.Reservation)
			}
		}
		if len(there) != len(tree.Pools()) {
			t.Fatalf("host %d has %d pools, and VMs in %d", h, len(tree.Pools()), len(there))
		}
		for _, p := range tree.Pools() {
			for _, r := range both {
				g, into := grantOf(r, &p.CPU, &p.Mem), &sum[p.ID][r]
				into.Reservation, into.Limit, into.Shares = plus(into.Reservation, g.Reservation), plus(into.Limit, within(g.Limit)), into.Shares+g.Shares
			}
		}
	}
	for p := 1; p < e.tree.pools; p++ {
		for _, r := range both {
			x, got := e.terms[r][p], sum[p][r]
			// Below the root's children, what a pool reserves is handed on to those in it.
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
			checkDiff(t, before[h], to)
		}
	}
}

// TestHostTreesKnowNoOrder: which order a cluster's lists have shows in ids only.
func TestHostTreesKnowNoOrder(t *testing.T) {
	g := rand.New(rand.NewPCG(19, 20))
	for range often(500) {
		c := random(g)
		byName := func(c *cluster.Cluster) map[string][2]Grant {
			m := map[string][2]Grant{}
			for h, t := range trees(c) {
				for _, p := range t.pools {
					m[c.Hosts[h].Name+" "+p.Name] = [2]Grant{p.CPU, p.Mem}
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

func TestNewHostTreeRefuses(t *testing.T) {
	g := func(r int64) Grant { return Grant{r, cluster.Unlimited, 1} }
	root := HostPool{Parent: cluster.Nowhere, CPU: g(10), Mem: g(10)}
	pool := func(id, parent cluster.PoolID, r int64) HostPool {
		return HostPool{ID: id, Parent: parent, CPU: g(r), Mem: g(0)}
	}
	vm := func(id cluster.VMID, in cluster.PoolID, cpu, mem int64) HostVM { return HostVM{id, in, g(cpu), g(mem)} }
	for _, c := range []struct {
		want  string
		pools []HostPool
		vms   []HostVM
	}{
		{"pool 0 is missing", nil, nil},
		{"pool 0 is missing", []HostPool{root, pool(-3, 0, 0)}, nil},
		{"pool 1 is listed twice", []HostPool{root, pool(1, 0, 0), pool(1, 0, 0)}, nil},
		{"VM 7 is listed twice", []HostPool{root}, []HostVM{vm(7, 0, 0, 0), vm(7, 0, 0, 0)}},
		{"only the root has none", []HostPool{root, pool(2, cluster.Nowhere, 0)}, nil},
		{"pool 2 is in pool 5, which is not there", []HostPool{root, pool(2, 5, 0)}, nil},
		{"VM 1 is in pool 5, which is not there", []HostPool{root}, []HostVM{vm(1, 5, 0, 0)}},
		{"pools are in each other: 1 of 3", []HostPool{root, pool(1, 2, 0), pool(2, 1, 0)}, nil},
		{"pool 0: it reserves 10 of cpu, and 11 are reserved in it", []HostPool{root, pool(1, 0, 11)}, nil},
		{"pool 1: it reserves 0 of memory, and 1 are reserved in it", []HostPool{root, pool(1, 0, 1)}, []HostVM{vm(1, 1, 0, 1)}},
		{"VM 1: a cpu reservation of -1", []HostPool{root}, []HostVM{vm(1, 0, -1, 0)}},
		{"pool 1: a cpu reservation of 5 and a limit of 4", []HostPool{root, {ID: 1, CPU: Grant{5, 4, 1}, Mem: g(0)}}, nil},
		{"shares above 0", []HostPool{root, {ID: 1, CPU: Grant{5, 5, 0}, Mem: g(0)}}, nil},
	} {
		if _, err := NewHostTree(c.pools, c.vms); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	huge := []HostVM{vm(1, 0, mostSum, 0), vm(2, 0, mostSum, 0), vm(3, 0, mostSum, 0), vm(4, 0, mostSum, 0)}
	if _, err := NewHostTree([]HostPool{root}, huge); err == nil {
		t.Error("a sum beyond all bounds is accepted")
	}
}

// Equal says whether two trees hold the same.
func (t *HostTree) Equal(o *HostTree) bool {
	return slices.Equal(t.pools, o.pools) && slices.Equal(t.vms, o.vms)
}
