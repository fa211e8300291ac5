package place

import "plimsoll/internal/cluster"

// proofs remember of which hosts all VMs find room if they fail. What shows it is the
// VMs of the host and of the emptiest others, as many as were looked at: as long as they
// are the same, so is the answer, whatever moves between other hosts.
type proofs struct {
	layout *cluster.Layout
	prefix []uint64 // hash of that many of the emptiest hosts and their VMs
	of     []proof  // by host
}

type proof struct {
	own, others uint64
	looked      int // hosts; 0 without a proof
}

// on looks at a layout and its emptiest hosts.
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

// keep stores a host's result with the number of emptiest hosts that it rests on.
func (p *proofs) keep(f cluster.HostID, looked int) {
	p.of[f] = proof{p.layout.Print(f), p.prefix[looked], looked}
}
