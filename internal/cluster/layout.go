package cluster

import "slices"

// Layout is the assignment of VMs to hosts. It keeps sums up to date, so that trying a move
// costs the same in a cluster of any size.
type Layout struct {
	c     *Cluster
	index *Index

	host     []HostID // by VM
	place    []int32  // index of a VM in the list of its host
	on       [][]VMID // by host
	reserved []Resources
	demand   []Resources
	print    []uint64  // of the VMs of a host, by host
	members  [][]int16 // number of VMs of a rule on a host, by rule and host
}

// NewLayout is the layout of the snapshot.
func NewLayout(c *Cluster, x *Index) *Layout {
	l := &Layout{
		c: c, index: x,
		host: make([]HostID, len(c.VMs)), place: make([]int32, len(c.VMs)), on: make([][]VMID, len(c.Hosts)),
		reserved: make([]Resources, len(c.Hosts)), demand: make([]Resources, len(c.Hosts)), print: make([]uint64, len(c.Hosts)), members: noMembers(c),
	}
	for i := range c.VMs {
		l.host[i] = Nowhere
		if h := c.VMs[i].Host; h != Nowhere {
			l.Move(VMID(i), h)
		}
	}
	return l
}

// noMembers are the counts of a layout without running VMs.
func noMembers(c *Cluster) [][]int16 {
	members := make([][]int16, len(c.Rules))
	for r := range c.Rules {
		if !c.Rules[r].OfHosts() && !c.Rules[r].Disabled {
			members[r] = make([]int16, len(c.Hosts))
		}
	}
	return members
}

// Clone is an independent copy.
func (l *Layout) Clone() *Layout {
	n := *l
	n.host, n.place = slices.Clone(l.host), slices.Clone(l.place)
	n.reserved, n.demand = slices.Clone(l.reserved), slices.Clone(l.demand)
	n.print = slices.Clone(l.print)
	n.on, n.members = make([][]VMID, len(l.on)), make([][]int16, len(l.members))
	for i, list := range l.on {
		n.on[i] = slices.Clone(list)
	}
	for i, list := range l.members {
		n.members[i] = slices.Clone(list)
	}
	return &n
}

// Cluster is the cluster of the layout.
func (l *Layout) Cluster() *Cluster { return l.c }

// Host is the host of a VM.
func (l *Layout) Host(v VMID) HostID { return l.host[v] }

// On lists the VMs of a host, in arbitrary order. It is valid until the next move.
func (l *Layout) On(h HostID) []VMID { return l.on[h] }

// Reserved is the reservation of a host's VMs.
func (l *Layout) Reserved(h HostID) Resources { return l.reserved[h] }

// Demand is the demand of a host's VMs.
func (l *Layout) Demand(h HostID) Resources { return l.demand[h] }

// Print is a fingerprint of a host's VMs: two sets collide with a probability of 1 to 2^64.
func (l *Layout) Print(h HostID) uint64 { return l.print[h] }

// scatter is a hash of a number in which each input bit changes half of the output bits.
//
// Source: splitmix64, Steele, Lea and Flood, "Fast splittable pseudorandom number generators"
// (2014).
func scatter(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// Move assigns a VM to another host, or to none, without checks.
func (l *Layout) Move(v VMID, to HostID) {
	if from := l.host[v]; from != Nowhere {
		list := l.on[from]
		last := list[len(list)-1]
		list[l.place[v]] = last
		l.place[last] = l.place[v]
		l.on[from] = list[:len(list)-1]
		l.count(v, from, -1)
	}
	l.host[v] = to
	if to != Nowhere {
		l.place[v] = int32(len(l.on[to]))
		l.on[to] = append(l.on[to], v)
		l.count(v, to, 1)
	}
}

func (l *Layout) count(v VMID, h HostID, sign int64) {
	needs, asks := l.index.reserved[v], l.index.demand[v]
	l.reserved[h].CPU += sign * needs.CPU
	l.reserved[h].Memory += sign * needs.Memory
	l.demand[h].CPU += sign * asks.CPU
	l.demand[h].Memory += sign * asks.Memory
	l.print[h] += uint64(sign) * scatter(uint64(v))
	for _, r := range l.index.rules[v] {
		l.members[r][h] += int16(sign)
	}
}
