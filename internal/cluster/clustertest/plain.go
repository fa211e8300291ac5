package clustertest

import (
	"strings"

	"plimsoll/internal/cluster"
)

// Layout is a cluster's layout and index.
func Layout(c *cluster.Cluster) (*cluster.Layout, *cluster.Index) {
	x := cluster.NewIndex(c)
	return cluster.NewLayout(c, x), x
}

// Plain is a cluster of plain hosts with VMs of given demands in MHz, one list per host.
func Plain(demands ...[]float64) *cluster.Cluster {
	c := Random(Spec{Seed: 1, Hosts: len(demands), Load: .1})
	for h, list := range demands {
		c.Hosts[h].Networks, c.Hosts[h].Overhead = []int32{0, 1}, cluster.Resources{}
		c.Hosts[h].CoresPerNode, c.Hosts[h].Sockets, c.Hosts[h].MHz = 10, 1, 1000 // 10 GHz
		for _, d := range list {
			vm := Random(Spec{Seed: 2, Hosts: 1, VMs: 1, Load: .1}).VMs[0]
			vm.Name, vm.Host, vm.VCPUs, vm.Memory = c.Hosts[h].Name+"/"+string(rune('a'+len(c.VMs))), cluster.HostID(h), 8, 8<<30
			vm.CPU.Reservation, vm.Mem.Reservation, vm.Demand.Dirty = 0, 0, 1<<20
			vm.Demand.Active, vm.Demand.Consumed = cluster.Steady(1<<30), 1<<30
			vm.Demand.CPU = cluster.DemandStatistics{}
			for range 60 {
				vm.Demand.CPU.Add(d)
			}
			c.VMs = append(c.VMs, vm)
		}
	}
	return c
}

// Texts counts violations, by rule or host.
func Texts(list []cluster.Violation) map[string]int {
	out := map[string]int{}
	for _, v := range list {
		key, _, _ := strings.Cut(v.Text, ": ")
		if v.Rule == cluster.Nowhere && strings.Contains(v.Text, " on a host that ") {
			key += " runs" // fewer and fewer
		}
		out[key]++
	}
	return out
}
