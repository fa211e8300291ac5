package place

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
)

// survivors is the capacity left after the failures to tolerate, which hit the largest hosts.
func survivors(c *cluster.Cluster, x *cluster.Index) (left cluster.Resources) {
	var cpu, memory []int64
	for h := range c.Hosts {
		if c.Hosts[h].Usable() {
			all := x.Capacity(cluster.HostID(h))
			cpu, memory = append(cpu, all.CPU), append(memory, all.Memory)
		}
	}
	slices.Sort(cpu)
	slices.Sort(memory)
	for i := range max(0, len(cpu)-c.Settings.SpareHosts) {
		left = left.Plus(cluster.Resources{CPU: cpu[i], Memory: memory[i]})
	}
	return left
}

// spare is why a VM may not start at all: reservations would not fit after these failures.
func (p *failover) spare(v cluster.VMID) string {
	n := p.c.Settings.SpareHosts
	if n == 0 {
		return ""
	}
	need := p.index.Reserved(v)
	for h := range p.c.Hosts {
		need = need.Plus(p.layout.Reserved(cluster.HostID(h)))
	}
	const text = "%s of %s would be reserved, but with %d hosts failed only %s are left"
	switch {
	case need.CPU > p.safe.CPU:
		return fmt.Sprintf(text, fmt.Sprintf("%d MHz", need.CPU), "CPU", n, fmt.Sprintf("%d MHz", p.safe.CPU))
	case need.Memory > p.safe.Memory:
		return fmt.Sprintf(text, cluster.MiB(need.Memory), "memory", n, cluster.MiB(p.safe.Memory))
	}
	return ""
}
