package topology

import "slices"

// choosePackages decides the cores per socket: a socket is a node if nodes are equal and no
// limit prevents it. Nodes that differ by one vCPU have sockets of one core: a larger one
// would straddle them, as vSphere divides no socket.
func (p *plan) choosePackages() {
	n := p.m.VCPUs
	size := n // size of the part of a node that a socket should match
	if p.even() {
		size = n / len(p.nodes)
		p.cores = size
	} else {
		p.cores = 1
		p.say(Odd, "T3", "sockets of more than one core would straddle the nodes, as vSphere divides no socket")
	}
	if m := p.o.MaxCoresPerSocket; m > 0 && p.cores > m {
		was := p.cores
		p.cores = largestDivisor(size, m)
		p.say(Aligned, "T4", "the platform allows at most %s per socket, so sockets have %d instead of %d: the guest sees more and smaller caches than exist",
			count(m, "core"), p.cores, was)
	}
	if m := p.o.MaxSockets; m > 0 && n/p.cores > m {
		p.widen(size)
	}
	p.sockets = n / p.cores
}

// widen enlarges sockets until the guest or its licence uses all of them.
func (p *plan) widen(size int) {
	n, limit := p.m.VCPUs, p.o.MaxSockets
	best := 0
	for d := up(n, limit); d <= n && best == 0 && (p.o.MaxCoresPerSocket == 0 || d <= p.o.MaxCoresPerSocket); d++ {
		// A socket is part of a node or spans whole ones; otherwise it would straddle two.
		if n%d == 0 && (d == n || p.even() && (d%size == 0 || size%d == 0)) {
			best = d
		}
	}
	if best == 0 {
		p.say(Capped, "T11", "the guest or its licence uses at most %s, and no larger ones are possible: %d of %d vCPUs would be used",
			count(limit, "socket"), limit*p.cores, n)
		return
	}
	was := p.cores
	p.cores = best
	p.say(Aligned, "T11", "the guest or its licence uses at most %s: sockets of %d instead of %d", count(limit, "socket"), best, was)
	if best > p.unit {
		p.say(SpansLLC, "T11", "a socket of %d spans %d nodes: the guest assumes that its cores share a cache, but they do not", best, up(best, p.unit))
	}
}

// compare checks the VM's present topology.
func (p *plan) compare() {
	now := p.m.CoresPerSocket
	if now == 0 {
		p.say(Aligned, "T4", "its present topology is unknown, as its cores per socket are unknown")
		return
	}
	if now == p.cores {
		return
	}
	n := p.m.VCPUs
	p.say(Stale, "T7", "now %s per socket (%s), recommended %d (%s); a change takes effect at the next power cycle, for nodes with numa.autosize.once=FALSE (T5)",
		count(now, "core"), count(up(n, now), "socket"), p.cores, count(p.sockets, "socket"))
	switch {
	case n%now != 0:
		p.say(Stale, "T7", "%d cores per socket do not divide %s", now, count(n, "vCPU"))
	case now > p.unit:
		p.say(Stale, "T9", "a socket of %d cores spans %d nodes of %s: what the guest sees as one node spans %d", now, up(now, p.unit), p.small.Name, up(now, p.unit))
	case up(n, now) < len(p.nodes):
		p.say(Stale, "T3", "%s cannot be spread over %d nodes, as a socket is never divided", count(up(n, now), "socket"), len(p.nodes))
	case !slices.Equal(grouped(n, now, len(p.nodes)), p.counts()):
		p.say(Stale, "T3", "sockets of %d make nodes of %s", now, list(grouped(n, now, len(p.nodes))))
	}
	if now == 1 && p.cores > 1 {
		p.say(Aligned, "T11", "measure first if single-thread latency or received packets matter: with 1 core per socket they were better in published tests")
	}
}
