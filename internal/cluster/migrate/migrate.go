// Package migrate models live migrations: the time to copy memory, and the limits per host.
package migrate

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/place"
)

// Link is the bandwidth of a migration between two hosts, in bytes per second.
func Link(c *cluster.Cluster, s place.Step) int64 {
	const used = 80 // per cent of the slower end
	return min(c.Hosts[s.From].NIC, c.Hosts[s.To].NIC) / 8 * used / 100
}

// CopyTime is the time to copy the memory of a running VM, in seconds; 0 if the VM dirties it
// faster.
func CopyTime(c *cluster.Cluster, s place.Step) int64 {
	vm := &c.VMs[s.VM]
	bandwidth := Link(c, s)
	if bandwidth <= vm.Demand.Dirty {
		return 0
	}
	// Each pass copies the pages written during the previous one: a geometric series.
	return max(1, vm.Memory/(bandwidth-vm.Demand.Dirty))
}

// CopyShare is the CPU use of a migration on each host, in thousandths of a core: a tenth per
// Gbit/s, at least 0.3 and at most one core.
//
// Source: Denneman, "Contention on lightly utilized hosts".
func CopyShare(c *cluster.Cluster, s place.Step) int64 {
	gbit := Link(c, s) * 8 / 1_000_000_000
	return min(1000, max(300, 100*gbit))
}

// Limits are the maximum numbers of concurrent migrations per host; each migration counts on
// both hosts.
//
// Source: Denneman, "Limiting the number of concurrent vMotions": at most 8 on a host; 4 on a
// link of 1 Gbit/s and 8 on one of 10.
type Limits struct {
	Host int // 0: 8
}

// Of is the maximum for a host.
func (m Limits) Of(h *cluster.Host) int {
	const gbit = 1_000_000_000
	host, link := m.Host, 0
	if host <= 0 {
		host = 8
	}
	switch {
	case h.NIC >= 10*gbit:
		link = 8
	case h.NIC >= gbit:
		link = 4
	default:
		link = 2
	}
	return min(host, link)
}

// Shared is the duration of a migration in seconds while as many share its link. If memory is
// dirtied too fast for that, it is copied alone, in the time of all of them.
func Shared(c *cluster.Cluster, s place.Step, many int64) int64 {
	if rate := Link(c, s)/many - c.VMs[s.VM].Demand.Dirty; rate > 0 {
		return max(1, c.VMs[s.VM].Memory/rate)
	}
	return many * CopyTime(c, s)
}
