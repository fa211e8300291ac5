package generate

import "plimsoll/internal/cluster"

// looked is the number of random hosts that a VM chooses from: enough to fill hosts similarly,
// but not equally (Mitzenmacher, "The Power of Two Choices").
const looked = 4

// place starts all VMs except the waiting ones, in order.
func place(c *cluster.Cluster, spec Spec) {
	s := &stream{seed: hash(spec.Seed, forPlace)}
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	used := make([]int64, len(c.Hosts)) // configured memory
	hot := max(1, len(c.Hosts)/5)
	for v := range c.VMs {
		if c.VMs[v].Waiting {
			continue
		}
		needs := c.VMs[v].Memory + c.VMs[v].Overhead
		best, room := cluster.HostID(cluster.Nowhere), int64(-1)
		consider := func(h cluster.HostID) {
			free := c.Hosts[h].Capacity().Memory - used[h] - needs
			if free > room && l.Obstacle(cluster.VMID(v), h).Check == cluster.Fine {
				best, room = h, free
			}
		}
		if s.below(100) < spec.Skew {
			consider(cluster.HostID(s.below(hot)))
		}
		for i := 0; i < looked && best == cluster.Nowhere || i < looked && i > 0; i++ {
			consider(cluster.HostID(s.below(len(c.Hosts))))
		}
		if best == cluster.Nowhere {
			room = -1 << 62 // overcommit memory if nothing else is left
			for h := range c.Hosts {
				consider(cluster.HostID(h))
			}
		}
		if best == cluster.Nowhere {
			continue
		}
		l.Move(cluster.VMID(v), best)
		c.VMs[v].Host = best
		used[best] += needs
	}
}
