// Package clustertest generates small and large random clusters for tests of decisions.
package clustertest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"plimsoll/internal/cluster"
)

// Spec describes a random cluster.
type Spec struct {
	Seed   uint64
	Hosts  int
	VMs    int
	Rules  int
	Pools  int     // besides the root
	Load   float64 // CPU demand, as a share of the capacity
	Placed bool    // the VMs have random hosts that violate no hard constraint
}

const gib = 1 << 30

// Random generates a cluster; equal specs give equal clusters.
func Random(s Spec) *cluster.Cluster {
	r := rand.New(rand.NewPCG(s.Seed, 0x636c7573))
	c := &cluster.Cluster{Name: "random", Settings: cluster.DefaultSettings(), Networks: []string{"a", "b"}, Datastores: []string{"x", "y"}}
	for i := range s.Hosts {
		h := cluster.Host{
			Name: fmt.Sprintf("host-%d", i), State: cluster.Connected, Sockets: 2, NodesPerSocket: 1, CoresPerNode: 16, ThreadsPerCore: 2,
			MHz: 2600, Memory: 512 * gib, Overhead: cluster.Resources{CPU: 500, Memory: 4 * gib}, Factor: 1000, NIC: 10_000_000_000,
			Networks: []int32{0, 1}, Datastores: []int32{0, 1},
		}
		if r.IntN(8) == 0 {
			h.Networks = []int32{int32(r.IntN(2))}
		}
		c.Hosts = append(c.Hosts, h)
	}
	c.Pools = pools(r, s.Pools)
	mean := s.Load * float64(s.Hosts) * float64(c.Hosts[0].Capacity().CPU) / float64(max(1, s.VMs))
	for i := range s.VMs {
		c.VMs = append(c.VMs, vm(r, i, mean, len(c.Pools)))
	}
	for i := range s.Rules {
		c.Rules = append(c.Rules, rule(r, i, s))
	}
	if s.Placed {
		settle(c, r)
	}
	return c
}

func pools(r *rand.Rand, n int) []cluster.Pool {
	free := cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000, Expandable: true}
	list := []cluster.Pool{{Name: "root", Parent: cluster.Nowhere, CPU: free, Mem: free, Level: cluster.ShareNormal}}
	levels := []cluster.ShareLevel{cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh}
	for i := range n {
		p := cluster.Pool{Name: fmt.Sprintf("pool-%d", i), Parent: cluster.PoolID(r.IntN(len(list))), CPU: free, Mem: free, Level: levels[r.IntN(3)]}
		p.CPU.Shares, p.Mem.Shares = cluster.PoolShares(p.Level)
		list = append(list, p)
	}
	return list
}

func vm(r *rand.Rand, i int, mean float64, pools int) cluster.VM {
	vcpus := 1 << r.IntN(4)
	v := cluster.VM{
		Name: fmt.Sprintf("vm-%d", i), Host: cluster.Nowhere, Pool: cluster.PoolID(r.IntN(pools)), VCPUs: vcpus, Memory: int64(vcpus) * 2 * gib,
		CPU: cluster.Allocation{Limit: cluster.Unlimited}, Mem: cluster.Allocation{Limit: cluster.Unlimited}, Overhead: 100 << 20,
		Networks: []int32{int32(r.IntN(2))}, Datastores: []int32{int32(r.IntN(2))},
	}
	v.CPU.Shares, v.Mem.Shares = cluster.VMShares(cluster.ShareNormal, vcpus, v.Memory)
	if r.IntN(4) == 0 {
		v.CPU.Reservation, v.Mem.Reservation = int64(vcpus)*500, v.Memory/2
	}
	v.Demand.CPU = cluster.Steady(mean * (.2 + 1.6*r.Float64()))
	v.Demand.Active = cluster.Steady(float64(v.Memory) * (.1 + .5*r.Float64()))
	v.Demand.Consumed = v.Memory * 8 / 10
	v.Demand.Dirty = int64(r.IntN(100)) << 20
	return v
}

func rule(r *rand.Rand, i int, s Spec) cluster.Rule {
	kinds := []cluster.RuleKind{cluster.Apart, cluster.Apart, cluster.Together, cluster.OnHosts, cluster.OffHosts}
	ru := cluster.Rule{Name: fmt.Sprintf("rule-%d", i), Kind: kinds[r.IntN(len(kinds))], Must: r.IntN(2) == 0}
	first := r.IntN(s.VMs)
	for j := range min(s.VMs, 2+r.IntN(3)) {
		ru.VMs = append(ru.VMs, cluster.VMID((first+j)%s.VMs))
	}
	slices.Sort(ru.VMs)
	if ru.OfHosts() {
		for h := range s.Hosts {
			if r.IntN(2) == 0 || h == 0 && ru.Kind == cluster.OnHosts {
				ru.Hosts = append(ru.Hosts, cluster.HostID(h))
			}
		}
		if len(ru.Hosts) == s.Hosts {
			ru.Hosts = ru.Hosts[:s.Hosts-1]
		}
	}
	return ru
}

// settle starts each VM on a host that can run it, searching from a random one.
func settle(c *cluster.Cluster, r *rand.Rand) {
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	for v := range c.VMs {
		from := r.IntN(len(c.Hosts))
		for i := range c.Hosts {
			h := cluster.HostID((from + i) % len(c.Hosts))
			if l.Obstacle(cluster.VMID(v), h).Check == cluster.Fine {
				l.Move(cluster.VMID(v), h)
				c.VMs[v].Host = h
				break
			}
		}
	}
}
