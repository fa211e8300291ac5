package warning

import (
	"fmt"

	"plimsoll/internal/cluster"
)

// migrationShare is the percentage of a NIC that a migration uses, as in the balancer;
// slowEmpty is the time to empty a host, in seconds, from which it is reported.
const (
	migrationShare = 80
	slowEmpty      = 3600
)

// copyRate is the bandwidth of a migration between two NICs, in bytes per second.
func copyRate(a, b int64) int64 { return min(a, b) / 8 * migrationShare / 100 }

// fastest are the two usable hosts with the fastest NICs; Nowhere if there are fewer.
type fastest [2]cluster.HostID

func newFastest(c *cluster.Cluster) fastest {
	f := fastest{cluster.Nowhere, cluster.Nowhere}
	for h := range c.Hosts {
		id := cluster.HostID(h)
		switch {
		case !c.Hosts[h].Usable():
		case f[0] == cluster.Nowhere || c.Hosts[h].NIC > c.Hosts[f[0]].NIC:
			f = fastest{id, f[0]}
		case f[1] == cluster.Nowhere || c.Hosts[h].NIC > c.Hosts[f[1]].NIC:
			f[1] = id
		}
	}
	return f
}

// nic is the NIC of the fastest other host; 0 without one.
func (f fastest) nic(c *cluster.Cluster, not cluster.HostID) int64 {
	for _, h := range f {
		if h != cluster.Nowhere && h != not {
			return c.Hosts[h].NIC
		}
	}
	return 0
}

// endlessCopies finds VMs that dirty memory faster than any migration can copy it.
func endlessCopies(s indexedCluster) []Warning {
	var names, says []string
	targets := newFastest(s.c)
	for i := range s.c.VMs {
		vm := &s.c.VMs[i]
		if !s.runs(i) || vm.Demand.Dirty == 0 {
			continue
		}
		other := targets.nic(s.c, vm.Host)
		rate := copyRate(s.c.Hosts[vm.Host].NIC, other)
		if other == 0 || vm.Demand.Dirty < rate {
			continue
		}
		names = append(names, vm.Name)
		says = append(says, fmt.Sprintf("%s on %s dirties %s of memory per second, but only %s can be copied", vm.Name, s.c.Hosts[vm.Host].Name, cluster.MiB(vm.Demand.Dirty), cluster.MiB(rate)))
	}
	return gathered(says, Warning{Kind: "migration never ends", VMs: names, Do: "give migrations a faster network; until then move them while idle or powered off"})
}

// slowToEmpty finds hosts that cannot be emptied within an hour.
func slowToEmpty(s indexedCluster) []Warning {
	var says, names []string
	targets := newFastest(s.c)
	for h := range s.c.Hosts {
		id := cluster.HostID(h)
		other := targets.nic(s.c, id)
		if !s.c.Hosts[h].Runs() || other == 0 {
			continue
		}
		rate, memory := copyRate(s.c.Hosts[h].NIC, other), int64(0)
		for _, v := range s.l.On(id) {
			memory += s.c.VMs[v].Memory
		}
		if memory == 0 || rate > 0 && memory/rate <= slowEmpty {
			continue
		}
		time := "can never be emptied"
		if rate > 0 {
			time = fmt.Sprintf("takes %.1f hours to be emptied", float64(memory/rate)/3600)
		}
		names = append(names, s.c.Hosts[h].Name)
		says = append(says, fmt.Sprintf("%s %s: its VMs have %s of memory, and migrations can copy %s per second", s.c.Hosts[h].Name, time, cluster.MiB(memory), cluster.MiB(rate)))
	}
	return gathered(says, Warning{Kind: "slow to empty", Hosts: names, Do: "give migrations a faster network, or plan maintenance for that duration"})
}
