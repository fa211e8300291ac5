package place

import (
	"slices"

	"plimsoll/internal/cluster"
)

// mostWindow is how many of the emptiest hosts are looked at to see that a failed host's
// VMs fit on them in whatever order they are packed.
const mostWindow = 12

// ample says that the emptiest hosts are sure to have room for all VMs of one, which
// costs less to find than to pack them. False says nothing.
//
// A VM that finds no room on a host is short of CPU or of memory there. It is short
// of CPU on fewer hosts than it takes for their free CPU, each less the largest VM, to
// add up to all that is reserved; and so for memory. Of as many hosts as both numbers
// together, less one, some one has room. It says how many hosts it has looked at.
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

// enough is how many of some amounts always are as much as is needed, whichever they are;
// more than there are where all of them are not, or one is below 0.
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

// welcome reports whether nothing but room can keep a VM of a host from so many of some
// others.
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
				many++ // it is on one of them, or may come to be
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
