package divvy

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// small is a cluster made by hand: pools and VMs by name, CPU in MHz.
type small struct {
	*cluster.Cluster
	at map[string]int
}

func newSmall() small {
	s := small{&cluster.Cluster{Hosts: []cluster.Host{{Name: "h", State: cluster.Connected, Sockets: 1, NodesPerSocket: 1, CoresPerNode: 64, ThreadsPerCore: 2, MHz: 1_000_000, Memory: 1 << 50, Factor: 1000}}}, map[string]int{}}
	s.Pools = []cluster.Pool{{Name: "root", Parent: cluster.Nowhere}}
	return s
}

func free(shares int64) cluster.Allocation {
	return cluster.Allocation{Limit: cluster.Unlimited, Shares: shares}
}

func (s small) pool(name, parent string, level cluster.ShareLevel) *cluster.Pool {
	cpu, mem := cluster.PoolShares(level)
	s.at[name] = len(s.Pools)
	s.Pools = append(s.Pools, cluster.Pool{Name: name, Parent: cluster.PoolID(s.at[parent]), CPU: free(cpu), Mem: free(mem), Level: level})
	return &s.Pools[len(s.Pools)-1]
}

// vm is a VM of two vCPUs and normal shares with a demand in MHz.
func (s small) vm(name, pool string, demand int64) *cluster.VM {
	cpu, mem := cluster.VMShares(cluster.ShareNormal, 2, 8<<30)
	s.at[name] = len(s.VMs)
	s.VMs = append(s.VMs, cluster.VM{Name: name, Pool: cluster.PoolID(s.at[pool]), VCPUs: 2, Memory: 8 << 30,
		CPU: free(cpu), Mem: free(mem), Demand: cluster.Demand{CPU: cluster.Steady(float64(demand)), Active: cluster.Steady(1 << 30)}})
	return &s.VMs[len(s.VMs)-1]
}

func (s small) divide(capacity int64) *Entitlements {
	return Divide(s.Cluster, cluster.NewIndex(s.Cluster), cluster.Resources{CPU: capacity, Memory: 1 << 45}, nil)
}

func (s small) wants(t *testing.T, e *Entitlements, want map[string]int64) {
	t.Helper()
	for name, mhz := range want {
		if got := e.VM(cluster.VMID(s.at[name])).CPU; got != mhz {
			t.Errorf("%s is entitled to %d MHz, want %d", name, got, mhz)
		}
	}
}

func beside(demand int64) small {
	s := newSmall()
	s.pool("RP1", "root", cluster.ShareHigh)
	s.vm("VM01", "root", demand)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.vm(name, "RP1", 100_000)
	}
	return s
}

// The examples are Denneman's.
func TestVMBesidePool(t *testing.T) {
	s := beside(100_000)
	e := s.divide(100_000)
	s.wants(t, e, map[string]int64{"VM01": 20_000, "a": 16_000, "e": 16_000})
	if got := e.Pool(1).CPU; got != 80_000 {
		t.Errorf("the pool has %d MHz", got)
	}

	s = beside(10_000)
	s.wants(t, s.divide(100_000), map[string]int64{"VM01": 10_000, "a": 18_000, "e": 18_000})

	for _, name := range []string{"a", "b", "c"} {
		s.VMs[s.at[name]].Demand.CPU = cluster.Steady(0)
	}
	s.wants(t, s.divide(100_000), map[string]int64{"a": 0, "b": 0, "c": 0, "d": 45_000, "e": 45_000})
}

func pie(scalable bool) small {
	s := newSmall()
	s.Settings.ScalablePool = scalable
	s.pool("high", "root", cluster.ShareHigh)
	s.pool("normal", "root", cluster.ShareNormal)
	for _, name := range []string{"h1", "h2", "h3", "h4", "h5", "h6"} {
		s.vm(name, "high", 100_000)
	}
	s.vm("n1", "normal", 100_000)
	s.vm("n2", "normal", 100_000)
	return s
}

func TestPriorityPie(t *testing.T) {
	s := pie(false)
	s.wants(t, s.divide(100_000), map[string]int64{"h1": 11_112, "h2": 11_111, "n1": 16_667, "n2": 16_666})
	s = pie(true)
	e := s.divide(100_000)
	if high, normal := e.terms[cluster.CPU][1].weight, e.terms[cluster.CPU][2].weight; high != 24_000 || normal != 4_000 {
		t.Errorf("scaled shares are %d and %d", high, normal)
	}
	s.wants(t, e, map[string]int64{"h1": 14_286, "h6": 14_285, "n1": 7_143, "n2": 7_143})
	e.Run(cluster.VMID(s.at["n2"]), false)
	s.wants(t, e, map[string]int64{"n1": 7_692, "n2": 0, "h1": 15_385})
}

func TestScaledThreeLevels(t *testing.T) {
	s := newSmall()
	s.Settings.ScalablePool = true
	for _, level := range []cluster.ShareLevel{cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh} {
		s.pool(string(level), "root", level)
		s.vm("in "+string(level), string(level), 100_000)
	}
	s.wants(t, s.divide(70_000), map[string]int64{"in low": 10_000, "in normal": 20_000, "in high": 40_000})
}

func TestReservationLimitSlack(t *testing.T) {
	s := newSmall()
	s.pool("p", "root", cluster.ShareNormal).CPU.Reservation = 30_000
	s.pool("idle", "root", cluster.ShareHigh)
	s.vm("reserved", "root", 100_000).CPU.Reservation = 50_000
	s.vm("limited", "root", 100_000).CPU.Limit = 5_000
	s.vm("in", "p", 10_000)
	e := s.divide(100_000)
	s.wants(t, e, map[string]int64{"reserved": 65_000, "limited": 5_000, "in": 30_000})
	if got := e.Pool(2).CPU; got != 0 {
		t.Errorf("an empty pool is entitled to %d MHz", got)
	}
	// With enough capacity everyone gets its demand, and the rest by shares.
	s.VMs[s.at["reserved"]].Demand.CPU = cluster.Steady(1000)
	s.VMs[s.at["reserved"]].CPU.Reservation = 0
	s.wants(t, s.divide(100_000), map[string]int64{"reserved": 31_667, "limited": 5_000, "in": 63_333})
}

func TestOvercommitIsSaid(t *testing.T) {
	s := newSmall()
	p := s.pool("p", "root", cluster.ShareNormal)
	p.CPU.Limit = 9_000
	s.vm("a", "p", 100_000).CPU.Reservation = 10_000
	s.vm("b", "p", 100_000).CPU.Reservation = 20_000
	s.vm("free", "root", 100_000)
	e := s.divide(100_000)
	s.wants(t, e, map[string]int64{"a": 3_000, "b": 6_000, "free": 91_000})
	list := e.Overcommitted()
	if want := (Overcommit{Pool: 1, Resource: cluster.CPU, Need: 30_000, Have: 9_000}); len(list) != 1 || list[0] != want {
		t.Fatalf("overcommitted: %+v", list)
	}
	e.Run(cluster.VMID(s.at["b"]), false)
	e.Run(cluster.VMID(s.at["a"]), false)
	if list := e.Overcommitted(); len(list) != 0 {
		t.Errorf("an empty pool is overcommitted: %+v", list)
	}
}

func TestMemoryIsDividedToo(t *testing.T) {
	s := newSmall()
	v := s.vm("a", "root", 0)
	v.Overhead, v.Demand.Active, v.Mem.Reservation = 1<<20, cluster.Steady(8<<30), 1<<30
	s.vm("b", "root", 0).Demand.Active = cluster.Steady(8 << 30)
	e := Divide(s.Cluster, cluster.NewIndex(s.Cluster), cluster.Resources{Memory: 4 << 30}, func(cluster.VMID) bool { return true })
	if got := e.VM(0).Memory; got != 2<<30 {
		t.Errorf("a is entitled to %d bytes", got)
	}
	e.Resize(cluster.Resources{Memory: 1<<30 + 1<<20})
	if a, b := e.VM(0).Memory, e.VM(1).Memory; a != 1<<30+1<<20 || b != 0 {
		t.Errorf("after the loss of capacity: %d and %d", a, b)
	}
}

func TestAdmission(t *testing.T) {
	s := newSmall()
	s.pool("outer", "root", cluster.ShareNormal).CPU = cluster.Allocation{Reservation: 10_000, Limit: 20_000, Shares: 1, Expandable: true}
	s.pool("inner", "outer", cluster.ShareNormal).CPU = cluster.Allocation{Reservation: 4_000, Limit: cluster.Unlimited, Shares: 1, Expandable: true}
	s.pool("fixed", "outer", cluster.ShareNormal).CPU = cluster.Allocation{Reservation: 3_000, Limit: cluster.Unlimited, Shares: 1}
	for _, p := range s.Pools[1:] {
		s.Pools[s.at[p.Name]].Mem.Expandable = true
	}
	s.vm("i", "inner", 0)
	s.vm("f", "fixed", 0)
	for i := range s.VMs {
		s.VMs[i].Host = cluster.Nowhere
	}
	cases := []struct {
		name     string
		vm       string
		need     int64
		capacity int64
		want     Refusal
	}{
		{"in its pool", "i", 4_000, 10_000, Refusal{Admitted: true}},
		{"one level up", "i", 7_000, 10_000, Refusal{Admitted: true}},
		{"two levels up", "i", 9_000, 12_000, Refusal{Admitted: true}},
		{"the cluster refuses", "i", 9_001, 12_000, Refusal{Pool: 0, Need: 2_001, Have: 2_000}},
		{"a limit refuses", "i", 17_001, 50_000, Refusal{Pool: 1, Need: 13_001, Have: 13_000, Limit: true}},
		{"fixed", "f", 3_000, 10_000, Refusal{Admitted: true}},
		{"fixed refuses", "f", 3_001, 50_000, Refusal{Pool: 3, Need: 3_001, Have: 3_000}},
	}
	for _, c := range cases {
		s.VMs[s.at[c.vm]].CPU.Reservation = c.need
		x := cluster.NewIndex(s.Cluster)
		l := NewLedger(s.Cluster, x, cluster.Resources{CPU: c.capacity, Memory: 1 << 40}, nil)
		if got := l.Admit(cluster.VMID(s.at[c.vm])); got != c.want {
			t.Errorf("%s: %+v: %s", c.name, got, got.Text(s.Cluster))
		}
	}
}

func TestMemoryAdmissionCountsOverhead(t *testing.T) {
	s := newSmall()
	v := s.vm("a", "root", 0)
	v.Host, v.Mem.Reservation, v.Overhead = cluster.Nowhere, 100<<20, 1<<20
	x := cluster.NewIndex(s.Cluster)
	l := NewLedger(s.Cluster, x, cluster.Resources{CPU: 1, Memory: 100 << 20}, nil)
	no := l.Admit(0)
	if want := (Refusal{Resource: cluster.Memory, Need: 101 << 20, Have: 100 << 20}); no != want {
		t.Errorf("%+v", no)
	}
	if got := no.Text(s.Cluster); got != "the cluster has 100 MiB of its memory capacity left, but 101 MiB are needed" {
		t.Error(got)
	}
}

// TestLargestVMs: a VM's reservation counts in full, up to a size beyond any real VM.
func TestLargestVMs(t *testing.T) {
	s := newSmall()
	const tib = 1 << 40
	for _, name := range []string{"a", "b"} {
		v := s.vm(name, "root", 0)
		v.Host, v.Mem.Reservation = cluster.Nowhere, 24*tib
	}
	l := NewLedger(s.Cluster, cluster.NewIndex(s.Cluster), cluster.Resources{CPU: 1, Memory: 40 * tib}, nil)
	l.Take(0)
	if no, want := l.Admit(1), (Refusal{Resource: cluster.Memory, Need: 24 * tib, Have: 16 * tib}); no != want {
		t.Errorf("%+v", no)
	}
	for i := range s.VMs {
		s.VMs[i].Mem.Reservation = cluster.Unlimited
	}
	l = NewLedger(s.Cluster, cluster.NewIndex(s.Cluster), cluster.Resources{CPU: 1, Memory: 40 * tib}, func(cluster.VMID) bool { return true })
	if l.used[cluster.Memory][0] < 40*tib {
		t.Errorf("absurd reservations add up to %d", l.used[cluster.Memory][0])
	}
}

// TestSiblingsKeepTheirs: the reservation of a pool that is not expandable stays its own,
// whatever the order; the rest of the parent's is first come, first served.
func TestSiblingsKeepTheirs(t *testing.T) {
	s := newSmall()
	s.pool("parent", "root", cluster.ShareNormal).CPU.Reservation = 10_000
	for name, reservation := range map[string]int64{"fixed": 4_000, "first": 0, "second": 0} {
		p := s.pool(name, "parent", cluster.ShareNormal)
		p.CPU.Reservation, p.CPU.Expandable, p.Mem.Expandable = reservation, name != "fixed", true
		v := s.vm("in "+name, name, 0)
		v.Host, v.CPU.Reservation = cluster.Nowhere, 4_000
	}
	s.Pools[s.at["parent"]].Mem.Expandable = true
	l := NewLedger(s.Cluster, cluster.NewIndex(s.Cluster), cluster.Resources{CPU: 10_000, Memory: 1 << 40}, nil)
	first, second, fixed := cluster.VMID(s.at["in first"]), cluster.VMID(s.at["in second"]), cluster.VMID(s.at["in fixed"])
	if no := l.Admit(first); !no.Admitted {
		t.Fatalf("first: %s", no.Text(s.Cluster))
	}
	l.Take(first)
	no := l.Admit(second)
	if want := (Refusal{Pool: cluster.PoolID(s.at["parent"]), Need: 4_000, Have: 2_000}); no != want {
		t.Errorf("second: %+v", no)
	}
	if got := no.Text(s.Cluster); got != "the pool parent has 2000 MHz of its CPU reservation left, but 4000 MHz are needed" {
		t.Error(got)
	}
	if no := l.Admit(fixed); !no.Admitted {
		t.Errorf("fixed: %s", no.Text(s.Cluster))
	}
	l.Drop(first)
	if no := l.Admit(second); !no.Admitted {
		t.Errorf("second, after first has gone: %s", no.Text(s.Cluster))
	}
}

// TestDefaultShares: a pool counts as a VM of four vCPUs and 16 GiB.
func TestDefaultShares(t *testing.T) {
	for _, c := range []struct {
		level                cluster.ShareLevel
		cpu, mem, vcpu, mibs int64
	}{{cluster.ShareLow, 2000, 81_920, 500, 5}, {cluster.ShareNormal, 4000, 163_840, 1000, 10}, {cluster.ShareHigh, 8000, 327_680, 2000, 20}} {
		cpu, mem := cluster.PoolShares(c.level)
		vcpu, mib := cluster.VMShares(c.level, 1, 1<<20)
		if cpu != c.cpu || mem != c.mem || vcpu != c.vcpu || mib != c.mibs {
			t.Errorf("%s: a pool has %d and %d, a VM %d by vCPU and %d by MiB", c.level, cpu, mem, vcpu, mib)
		}
	}
}

// TestLedgerForgets: a VM that is taken and dropped leaves no trace.
func TestLedgerForgets(t *testing.T) {
	g := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		c := random(g)
		x := cluster.NewIndex(c)
		none := func(cluster.VMID) bool { return false }
		l, fresh := NewLedger(c, x, cluster.Resources{CPU: 10_000, Memory: 10_000}, none), NewLedger(c, x, cluster.Resources{CPU: 10_000, Memory: 10_000}, none)
		order := g.Perm(len(c.VMs))
		for _, v := range order {
			if l.Admit(cluster.VMID(v)).Admitted {
				l.Take(cluster.VMID(v))
			}
		}
		for p := range l.tree.pools {
			for _, r := range cluster.BothResources {
				if a := l.pools[r][p]; l.used[r][p] > max(fresh.used[r][p], a.Limit) || !a.Expandable && l.used[r][p] > max(fresh.used[r][p], a.Reservation) {
					t.Fatalf("pool %d has %d admitted of %+v", p, l.used[r][p], a)
				}
			}
		}
		for v := range c.VMs {
			l.Drop(cluster.VMID(v))
		}
		for _, r := range cluster.BothResources {
			for p, used := range l.used[r] {
				if used != fresh.used[r][p] {
					t.Fatalf("%d are left of %d in pool %d", used, fresh.used[r][p], p)
				}
			}
		}
	}
}

// Updating all VMs' demand at once equals updating each.
func TestUpdateAllIsUpdateOfEach(t *testing.T) {
	for seed := range uint64(20) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 60, Pools: 6, Load: .9, Placed: true})
		x := cluster.NewIndex(c)
		all := cluster.Resources{CPU: 100_000, Memory: 512 << 30}
		asks := func(v cluster.VMID) cluster.Resources {
			return cluster.Resources{CPU: int64(seed*31+uint64(v)*977) % 9000, Memory: int64(v) % 7 << 30}
		}
		one, at := Divide(c, x, all, nil), Divide(c, x, all, nil)
		for v := range c.VMs {
			one.Update(cluster.VMID(v), asks(cluster.VMID(v)))
		}
		at.UpdateAll(asks)
		one.Settle()
		at.Settle()
		for v := range c.VMs {
			if a, b := one.VM(cluster.VMID(v)), at.VM(cluster.VMID(v)); a != b {
				t.Fatalf("seed %d: VM %d has %v, and %v at once", seed, v, a, b)
			}
		}
		for p := range c.Pools {
			if a, b := one.Pool(cluster.PoolID(p)), at.Pool(cluster.PoolID(p)); a != b {
				t.Fatalf("seed %d: pool %d has %v, and %v at once", seed, p, a, b)
			}
		}
	}
}
