package balance

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
)

// mostRise is by how much the score of some VM could rise on another host, whether
// its move is worth it or not; where that is more than few, it may be any such rise.
func (r *round) mostRise(few int64) (most int64) {
	if s := r.riser; s.from != s.to {
		if most = r.rise(s.from, s.to, few); most > few {
			return most
		}
	}
	for h := range r.c.Hosts {
		if !r.source(h) {
			continue
		}
		from := cluster.HostID(h)
		has := contention.Part(million-r.outlooks[h].loss, million-r.mostRemote(from))
		for t := range r.c.Hosts {
			to := cluster.HostID(t)
			if million-r.outlooks[t].loss-has <= most || h == t || !r.c.Hosts[t].Usable() || !r.worthALook(from, to) {
				continue
			}
			if most = max(most, r.rise(from, to, few)); most > few {
				r.riser = riser{from, to}
				return most
			}
		}
	}
	return most
}

// riser is two hosts of which VMs of the one would do better on the other.
type riser struct{ from, to cluster.HostID }

// mostRemote is the most that a VM of a host loses on memory of other nodes, in
// millionths.
func (r *round) mostRemote(h cluster.HostID) (most int64) {
	for _, v := range r.l.On(h) {
		most = max(most, contention.RemoteLoss(&r.c.VMs[v], &r.c.Hosts[h]))
	}
	return most
}

// rise is the most between two hosts, or the first that is more than few.
func (r *round) rise(from, to cluster.HostID, few int64) (most int64) {
	n, list := r.lane(from, to), r.l.On(from)
	if r.units.all != nil {
		list = slices.Clone(list) // to see whether a unit may go there changes the order
	}
	for _, v := range list {
		raise := n.raise(v)
		if raise <= most {
			continue
		}
		if unit := r.units.with(r.l, v); r.mayAllMove(unit) && moved(r.l, unit, to, nil).Check == cluster.Fine {
			if most = raise; most > few {
				break
			}
		}
	}
	return most
}
