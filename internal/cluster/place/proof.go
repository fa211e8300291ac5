package place

import "plimsoll/internal/cluster"

// proofs caches which hosts can fail with room for all of their VMs elsewhere. A proof depends
// on the VMs of the host and of the examined hosts with most free memory: it holds while these
// are unchanged, whatever moves between other hosts.
type proofs struct {
	layout *cluster.Layout
	prefix []uint64 // hash of that many of the hosts with most free memory and their VMs
	of     []proof  // by host
}

type proof struct {
	own, others uint64
	looked      int // hosts; 0 without a proof
}

// on is the cache for a layout and its hosts by free memory.
func (p *proofs) on(l *cluster.Layout, hosts []cluster.HostID) *proofs {
	if p.of == nil {
		p.of = make([]proof, len(l.Cluster().Hosts))
	}
	p.layout, p.prefix = l, append(p.prefix[:0], 0)
	hash := uint64(0)
	for _, h := range hosts {
		hash = (hash ^ l.Print(h) ^ uint64(h)<<40) * 0x9e3779b97f4a7c15
		hash ^= hash >> 29
		p.prefix = append(p.prefix, hash)
	}
	return p
}

func (p *proofs) holds(f cluster.HostID) bool {
	of := &p.of[f]
	return of.looked > 0 && of.own == p.layout.Print(f) && of.others == p.prefix[of.looked]
}

// keep stores the proof of a host with the number of hosts that it depends on.
func (p *proofs) keep(f cluster.HostID, looked int) {
	p.of[f] = proof{p.layout.Print(f), p.prefix[looked], looked}
}
