package place

import (
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
)

// Admission admits the reservations of VMs to resource pools, and accounts for them. A VM is
// taken once, until it is dropped.
type Admission interface {
	// Admits returns the refusal, with the pool that lacks capacity and the missing amount.
	Admits(v cluster.VMID) (ok bool, why string)
	Take(v cluster.VMID)
	Drop(v cluster.VMID)
}

// Ask restricts placement to VMs that are admitted; each VM that is placed is taken.
func (p *Placer) Ask(a Admission) { p.pools = a }

// Denied is why a VM may not start, independent of the host: capacity reserved for failures,
// then storage, then its pools. Empty if it may.
//
// Source: Denneman, "The admission control family".
func (p *Placer) Denied(v cluster.VMID) string {
	if p.again {
		return ""
	}
	if why := p.failover.spare(v); why != "" {
		return why
	}
	if why := outOfReach(p.c, v); why != "" || p.pools == nil {
		return why
	}
	if ok, why := p.pools.Admits(v); !ok {
		return why
	}
	return ""
}

func (p *Placer) claim(v cluster.VMID) {
	if p.pools != nil {
		p.pools.Take(v)
	}
}

// outOfReach is why no host could run a VM because of its datastores. If no host is usable,
// the hosts' own obstacles are reported instead.
func outOfReach(c *cluster.Cluster, v cluster.VMID) string {
	needs := c.VMs[v].Datastores
	if len(needs) == 0 {
		return ""
	}
	seen, usable := make([]bool, len(needs)), 0
	for h := range c.Hosts {
		host := &c.Hosts[h]
		if !host.Usable() {
			continue
		}
		usable++
		n := 0
		for i, d := range needs {
			if reaches(host, d) {
				seen[i] = true
				n++
			}
		}
		if n == len(needs) {
			return ""
		}
	}
	for i, d := range needs {
		if usable > 0 && !seen[i] {
			return fmt.Sprintf("none of the %d usable hosts reaches the datastore %s", usable, c.Datastores[d])
		}
	}
	if usable == 0 {
		return ""
	}
	return fmt.Sprintf("none of the %d usable hosts reaches all of its %d datastores", usable, len(needs))
}

func reaches(host *cluster.Host, datastore int32) bool {
	_, found := slices.BinarySearch(host.Datastores, datastore)
	return found
}
