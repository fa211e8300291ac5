package search

import (
	"math"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/place"
)

// market collects the offers of hosts.
type market struct {
	d       *draft.Draft
	relief  *relief.Relief
	targets []cluster.HostID // one host per migration cost
	costs   []int64          // by VM: minimum saving of a move plus one, in MHz; 0 if not computed yet

	unsorted []worth.Offer // buffer for the offers of a host
	ranks    []rank        // buffer for their order
}

func newMarket(d *draft.Draft, f *relief.Relief) market {
	return market{d: d, relief: f, targets: targets(d.Cluster), costs: make([]int64, len(d.Cluster.VMs))}
}

// offers appends the offers of a host to a reused list: units for which some target may be
// worth the migration, by merit and VM.
func (m *market) offers(from cluster.HostID, list []worth.Offer) []worth.Offer {
	m.unsorted = worth.Offers(m.d, from, m.unsorted[:0], m.mayPay)
	m.ranks = m.ranks[:0]
	for i := range m.unsorted {
		m.ranks = append(m.ranks, rank{m.unsorted[i].Merit, m.unsorted[i].VM, int32(i)})
	}
	slices.SortFunc(m.ranks, rank.compare)
	list = list[:0]
	for _, k := range m.ranks {
		list = append(list, m.unsorted[k.at])
	}
	return list
}

// rank is the sort key of an offer, and its index.
type rank struct {
	merit int64
	vm    cluster.VMID
	at    int32
}

func (k rank) compare(o rank) int {
	switch {
	case k.merit > o.merit, k.merit == o.merit && k.vm < o.vm:
		return -1
	case k == o:
		return 0
	}
	return 1
}

// mayPay completes an offer, and reports whether a move could save enough.
func (m *market) mayPay(vms []cluster.VMID, o *worth.Offer) bool {
	o.Need = math.MinInt64
	if m.d.Cluster.Settings.CostBenefit {
		o.Need = m.needs(vms, m.d.Layout.Host(o.VM))
	}
	for _, v := range vms {
		if vm := &m.d.Cluster.VMs[v]; vm.Memory > o.Memory {
			o.Memory, o.Dirty = vm.Memory, vm.Demand.Dirty
		}
	}
	return o.Gain >= o.Need
}

// needs is the minimum saving of a unit's move to any host, in MHz: its cost on the cheapest
// target, or the saving required of each move off the host.
func (m *market) needs(vms []cluster.VMID, from cluster.HostID) int64 {
	least := m.relief.Needed(from)
	if len(vms) > 1 {
		return max(least, m.cheapest(vms, from))
	}
	// A VM moves once per round, so its host stays the same.
	at := &m.costs[vms[0]]
	if *at == 0 {
		*at = 1 + m.cheapest(vms, from)
	}
	return max(least, *at-1)
}

// cheapest is one MHz more than the cost of a move of a unit to the cheapest target.
func (m *market) cheapest(vms []cluster.VMID, from cluster.HostID) int64 {
	cheapest := int64(-1)
	for _, to := range m.targets {
		if w := worth.Sure(m.d, vms, place.Step{VM: vms[0], From: from, To: to}, 0); w.Copy > 0 && (cheapest < 0 || w.Cost/w.Stable < cheapest) {
			cheapest = w.Cost / w.Stable
		}
	}
	return cheapest + 1
}

// mostTargets limits the number of distinct migration costs.
const mostTargets = 8

// targets are hosts that represent every migration cost of the usable hosts; nil if there are
// too many.
func targets(c *cluster.Cluster) (list []cluster.HostID) {
	for h := range c.Hosts {
		host := &c.Hosts[h]
		if host.Usable() && !slices.ContainsFunc(list, func(o cluster.HostID) bool { return c.Hosts[o].NIC == host.NIC && c.Hosts[o].MHz == host.MHz }) {
			list = append(list, cluster.HostID(h))
		}
		if len(list) > mostTargets {
			return nil
		}
	}
	return list
}
