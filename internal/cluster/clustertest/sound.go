package clustertest

import "plimsoll/internal/cluster"

// Sound is a cluster without warnings: three hosts, six VMs in two pools.
func Sound() *cluster.Cluster {
	free := cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000, Expandable: true}
	c := &cluster.Cluster{Name: "sound", Settings: cluster.DefaultSettings(), Networks: []string{"front"}, Pools: []cluster.Pool{
		{Name: "root", Parent: cluster.Nowhere, CPU: free, Mem: free, Level: cluster.ShareNormal},
		{Name: "gold", Parent: 0, CPU: free, Mem: free, Level: cluster.ShareNormal},
		{Name: "bronze", Parent: 0, CPU: free, Mem: free, Level: cluster.ShareNormal},
	}}
	for _, name := range []string{"esx-1", "esx-2", "esx-3"} {
		c.Hosts = append(c.Hosts, cluster.Host{Name: name, State: cluster.Connected, Sockets: 2, NodesPerSocket: 1, CoresPerNode: 8, ThreadsPerCore: 2,
			MHz: 2500, Memory: 128 * gib, Factor: 1000, NIC: 10_000_000_000, Networks: []int32{0}})
	}
	for i, name := range []string{"a-1", "a-2", "a-3", "b-1", "b-2", "b-3"} {
		v := cluster.VM{Name: name, Host: cluster.HostID(i % 3), Pool: cluster.PoolID(1 + i/3), VCPUs: 4, Memory: 16 * gib, Networks: []int32{0},
			CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: 163840}}
		v.Demand.CPU, v.Demand.Active, v.Demand.Consumed = cluster.Steady(2000), cluster.Steady(4*gib), 8*gib
		c.VMs = append(c.VMs, v)
	}
	return c
}

// Lopsided is Sound with all VMs on the first host, which they fill.
func Lopsided() *cluster.Cluster {
	c := Sound()
	for v := range c.VMs {
		c.VMs[v].Host, c.VMs[v].Demand.CPU = 0, cluster.Steady(5000)
	}
	return c
}
