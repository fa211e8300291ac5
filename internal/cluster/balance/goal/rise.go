package goal

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/contention"
)

// rise is a pair of hosts: VMs of the first would score higher on the second.
type rise struct{ from, to cluster.HostID }

// mostRise is the highest rise of a VM's score by a move to another host, whether worth it or
// not. The search stops at the first rise above few.
func (g *Goal) mostRise(few int64) (most int64) {
	d := g.d
	if last := g.rise; last.from != last.to {
		if most = last.between(d, few); most > few {
			return most
		}
	}
	for from := range cluster.HostID(len(d.Hosts)) {
		if !d.Loaded(from) {
			continue
		}
		remote := int64(0)
		for _, v := range d.Layout.On(from) {
			remote = max(remote, contention.RemoteLoss(&d.Cluster.VMs[v], &d.Cluster.Hosts[from]))
		}
		has := contention.Part(million-d.Hosts[from].Loss, million-remote)
		for to := range cluster.HostID(len(d.Hosts)) {
			if million-d.Hosts[to].Loss-has <= most || !d.MayGain(from, to) {
				continue
			}
			r := rise{from, to}
			if most = max(most, r.between(d, few)); most > few {
				g.rise = r
				return most
			}
		}
	}
	return most
}

// between is the highest rise between two hosts, or the first above few.
func (r rise) between(d *draft.Draft, few int64) (most int64) {
	n, list := worth.NewLane(d, r.from, r.to), d.Layout.On(r.from)
	if d.Units.Any() {
		list = slices.Clone(list) // trying a unit on another host changes the order
	}
	for _, v := range list {
		raise := n.Raise(v)
		if raise <= most {
			continue
		}
		if vms := d.Units.With(d.Layout, v); d.MayAllMove(vms) && unit.Fits(d.Layout, vms, r.to) {
			if most = raise; most > few {
				break
			}
		}
	}
	return most
}
