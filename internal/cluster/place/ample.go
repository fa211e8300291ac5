package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// mostWindow is the maximum number of hosts with most free memory that are examined to prove
// that a failed host's VMs fit on them, however they are packed.
const mostWindow = 12

// ample proves that the hosts with most free memory have room for all VMs of a failed one,
// more cheaply than by packing. False proves nothing.
//
// A VM that does not fit on a host lacks CPU or memory there. It lacks CPU only on fewer hosts
// than are needed for their free CPU, each less the largest VM, to add up to all reservations;
// the same holds for memory. Of as many hosts as both numbers together, less one, at least one
// has room. It returns the number of hosts examined.
func (p *failover) ample(f cluster.HostID, hosts []cluster.HostID) (ok bool, looked int) {
	var window [mostWindow]cluster.HostID
	var largest cluster.Resources
	for _, v := range p.layout.On(f) {
		r := p.index.Reserved(v)
		largest.CPU, largest.Memory = max(largest.CPU, r.CPU), max(largest.Memory, r.Memory)
	}
	var cpu, memory [mostWindow]int64
	n := 0
	for _, h := range hosts {
		if n == mostWindow {
			break
		}
		looked++
		if h == f || p.c.Hosts[h].MostVMs > 0 {
			continue
		}
		free := p.free(h).Minus(largest)
		window[n], cpu[n], memory[n] = h, free.CPU, free.Memory
		n++
	}
	all := p.layout.Reserved(f)
	need := enough(cpu[:n], all.CPU) + enough(memory[:n], all.Memory) - 1
	return need <= n && !slices.ContainsFunc(p.layout.On(f), func(v cluster.VMID) bool {
		return !p.welcome(v, f, window[:n], need)
	}), looked
}

// enough is the smallest n for which any n of the amounts cover the need; more than there are
// if all together do not, or one is negative.
func enough(amounts []int64, needed int64) int {
	slices.Sort(amounts)
	sum := int64(0)
	for i, a := range amounts {
		if a < 0 {
			break
		}
		if sum += a; sum >= needed {
			return i + 1
		}
	}
	return mostWindow + 1
}

// welcome reports whether only a lack of room can keep a VM of a host from running on a number
// of others.
func (p *failover) welcome(v cluster.VMID, f cluster.HostID, window []cluster.HostID, many int) bool {
	for _, id := range p.index.Rules(v) {
		rule := &p.c.Rules[id]
		if !rule.Must {
			continue
		}
		if rule.Kind != cluster.Apart {
			return false
		}
		for _, other := range rule.VMs {
			h := p.layout.Host(other)
			if other == v || h == cluster.Nowhere {
				continue
			}
			if h == f || slices.Contains(window, h) {
				many++ // it runs on one of them, or may later
			}
		}
	}
	for i, h := range window {
		if p.index.Allowed(v, h) {
			many--
		}
		if many <= 0 {
			return true
		}
		if many > len(window)-1-i {
			return false
		}
	}
	return false
}
