package divvy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy/hosttree"
)

// large is a busy cluster: two levels of pools, a few reservations and limits.
func large(hosts, vms, pools int) *cluster.Cluster {
	g := rand.New(rand.NewPCG(1, 1))
	c := &cluster.Cluster{Settings: cluster.DefaultSettings(), Pools: []cluster.Pool{{Name: "root", Parent: cluster.Nowhere}}}
	for i := range hosts {
		c.Hosts = append(c.Hosts, cluster.Host{Name: fmt.Sprintf("host%04d", i), State: cluster.Connected, Sockets: 2, NodesPerSocket: 1, CoresPerNode: 32, ThreadsPerCore: 2, MHz: 2600, Memory: 1 << 40, Factor: 1000})
	}
	for i := 1; i < pools; i++ {
		level := pick(g, cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh)
		cpu, mem := cluster.PoolShares(level)
		p := cluster.Pool{Name: fmt.Sprintf("pool%04d", i), CPU: free(cpu), Mem: free(mem), Level: level}
		if i > 20 {
			p.Parent = cluster.PoolID(1 + g.IntN(20))
		}
		p.CPU.Expandable, p.Mem.Expandable = true, true
		if i%7 == 0 {
			p.CPU.Reservation, p.Mem.Reservation = 20_000, 64<<30
		}
		c.Pools = append(c.Pools, p)
	}
	for i := range vms {
		vcpus := 1 << g.IntN(4)
		memory := int64(vcpus) << 32
		cpu, mem := cluster.VMShares(cluster.ShareNormal, vcpus, memory)
		v := cluster.VM{Name: fmt.Sprintf("vm%05d", i), Host: cluster.HostID(g.IntN(hosts)), Pool: cluster.PoolID(1 + g.IntN(pools-1)), VCPUs: vcpus, Memory: memory,
			CPU: free(cpu), Mem: free(mem), Overhead: 90 << 20,
			Demand: cluster.Demand{CPU: cluster.Steady(g.Float64() * float64(vcpus) * 2600), Active: cluster.Steady(g.Float64() * float64(memory)), Consumed: memory}}
		if i%10 == 0 {
			v.CPU.Reservation, v.Mem.Reservation = 500, 1<<30
		}
		c.VMs = append(c.VMs, v)
	}
	return c
}

var sizes = []struct{ hosts, vms, pools int }{{64, 8000, 200}, {640, 80_000, 2000}}

// busy is a capacity of about two thirds of the demand.
func busy(c *cluster.Cluster, x *cluster.Index) cluster.Resources {
	var all cluster.Resources
	for i := range c.VMs {
		all = all.Plus(x.Demand(cluster.VMID(i)))
	}
	return cluster.Resources{CPU: all.CPU / 3 * 2, Memory: all.Memory / 3 * 2}
}

func BenchmarkDivide(b *testing.B) {
	for _, s := range sizes {
		c := large(s.hosts, s.vms, s.pools)
		x := cluster.NewIndex(c)
		capacity := busy(c, x)
		b.Run(fmt.Sprintf("vms=%d", s.vms), func(b *testing.B) {
			for b.Loop() {
				Divide(c, x, capacity, nil)
			}
		})
	}
}

// BenchmarkUpdate changes one VM's demand, back the next time, and reads its entitlement; all
// also computes everyone else's.
func BenchmarkUpdate(b *testing.B) {
	for _, s := range sizes {
		c := large(s.hosts, s.vms, s.pools)
		x := cluster.NewIndex(c)
		e := Divide(c, x, busy(c, x), nil)
		for _, all := range []bool{false, true} {
			b.Run(fmt.Sprintf("vms=%d/all=%v", s.vms, all), func(b *testing.B) {
				i := 0
				for b.Loop() {
					v := cluster.VMID(i / 2 * 7919 % len(c.VMs))
					d := x.Demand(v)
					if i%2 == 0 {
						d = cluster.Resources{CPU: d.CPU / 2, Memory: d.Memory / 2}
					}
					e.Update(v, d)
					if e.VM(v); all {
						e.Settle()
					}
					i++
				}
			})
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	c := large(64, 8000, 200)
	x := cluster.NewIndex(c)
	l := NewLedger(c, x, cluster.Resources{CPU: 64 * 64 * 2600, Memory: 64 << 40}, nil)
	i := 0
	for b.Loop() {
		v := cluster.VMID(i * 7919 % len(c.VMs))
		l.Drop(v)
		if !l.Admit(v).Admitted {
			b.Fatal("what ran does not fit")
		}
		l.Take(v)
		i++
	}
}

func BenchmarkHostTrees(b *testing.B) {
	for _, s := range sizes {
		c := large(s.hosts, s.vms, s.pools)
		x := cluster.NewIndex(c)
		e, l := Divide(c, x, busy(c, x), nil), cluster.NewLayout(c, x)
		b.Run(fmt.Sprintf("vms=%d", s.vms), func(b *testing.B) {
			for b.Loop() {
				e.HostTrees(l)
			}
		})
	}
}

// round is the hosts' trees before and after a round: all VMs change their demand, or in a
// quiet round one; and a part of the VMs has moved.
func round(c *cluster.Cluster, quiet bool, moved int) (from, to []*hosttree.Tree) {
	g := rand.New(rand.NewPCG(2, 2))
	x := cluster.NewIndex(c)
	e, l := Divide(c, x, busy(c, x), nil), cluster.NewLayout(c, x)
	from = e.HostTrees(l)
	for i := range c.VMs {
		v := cluster.VMID(i)
		if d := x.Demand(v); !quiet || i == 0 {
			e.Update(v, cluster.Resources{CPU: d.CPU * (90 + g.Int64N(20)) / 100, Memory: d.Memory * (90 + g.Int64N(20)) / 100})
		}
		if g.IntN(1000) < moved {
			l.Move(v, cluster.HostID(g.IntN(len(c.Hosts))))
		}
	}
	return from, e.HostTrees(l)
}

// BenchmarkSync updates all hosts from the trees of one round to those of the next: diff, and
// operations on the hosts' copies.
func BenchmarkSync(b *testing.B) {
	cases := []struct {
		name  string
		quiet bool
		moved int
		keep  hosttree.Tolerance
	}{{"steady", false, 0, hosttree.DefaultTolerance()}, {"moves", false, 10, hosttree.DefaultTolerance()}, {"exact", false, 10, hosttree.Precise()}, {"quiet", true, 0, hosttree.DefaultTolerance()}}
	for _, s := range sizes {
		for _, k := range cases {
			from, to := round(large(s.hosts, s.vms, s.pools), k.quiet, k.moved)
			b.Run(fmt.Sprintf("vms=%d/%s", s.vms, k.name), func(b *testing.B) {
				var ops, rebuild, skipped, parked, bytes int
				var took []float64 // microseconds of a diff
				for b.Loop() {
					ops, rebuild, skipped, parked = 0, 0, 0, 0
					for h := range from {
						start := time.Now()
						d := hosttree.Diff(from[h], to[h], k.keep)
						took = append(took, float64(time.Since(start).Nanoseconds())/1000)
						ops, rebuild, skipped = ops+len(d.Ops), rebuild+d.Rebuild, skipped+d.Skipped
						if _, err := from[h].Clone().Apply(d.Ops...); err != nil {
							b.Fatal(err)
						}
					}
				}
				for h := range from {
					for _, o := range hosttree.Diff(from[h], to[h], k.keep).Ops {
						bytes += len(o.String())
						if o.Verb == hosttree.LeaveVM && slices.ContainsFunc(vmsOf(b, to[h]), func(v hosttree.VM) bool { return v.VM == o.VM }) {
							parked++
						}
					}
				}
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2], "p50-us")
				b.ReportMetric(took[len(took)*99/100], "p99-us")
				b.ReportMetric(float64(ops), "ops")
				b.ReportMetric(float64(rebuild), "rebuild-ops")
				b.ReportMetric(float64(skipped), "skipped-pools")
				b.ReportMetric(float64(parked), "parked")
				b.ReportMetric(float64(bytes), "text-B")
			})
		}
	}
}
