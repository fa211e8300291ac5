package topology

import (
	"fmt"

	"plimsoll/internal/cluster"
)

// plan is a recommendation in preparation.
type plan struct {
	m     VM
	o     Options
	hosts []Shape // hosts that the VM fits; the largest one if it fits none

	small     Shape // the host with the smallest nodes
	unit      int   // vCPUs per node
	cache     int   // vCPUs per last-level cache
	nodeBytes int64 // memory of the smallest node in whole MiB; 0 if unknown
	most      int   // largest number of nodes of a host
	uniform   bool  // all hosts have nodes of one size

	exceeds bool
	least   int // nodes that the vCPUs need
	nodes   []Node
	sockets int
	cores   int // per socket
	reasons []Reason
}

func newPlan(m VM, hosts []Shape, o Options) *plan {
	p := &plan{m: m, o: o, uniform: true}
	p.chooseHosts(hosts)
	for i, h := range p.hosts {
		unit := h.unit(o.PreferHT)
		if i == 0 || unit < p.unit {
			p.small, p.unit = h, unit
		}
		if i == 0 || h.cache(o.PreferHT) < p.cache {
			p.cache = h.cache(o.PreferHT)
		}
		if b := h.MemoryPerNode / mib * mib; b > 0 && (p.nodeBytes == 0 || b < p.nodeBytes) {
			p.nodeBytes = b
		}
		p.most = max(p.most, h.Nodes())
		p.uniform = p.uniform && unit == p.hosts[0].unit(o.PreferHT)
	}
	p.spread()
	p.group()
	p.choosePackages()
	p.compare()
	return p
}

func (p *plan) say(g Grade, rule, format string, args ...any) {
	p.reasons = append(p.reasons, Reason{Grade: g, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

func (p *plan) advice() Advice {
	a := Advice{
		VM: p.m, Options: p.o, Sockets: p.sockets, CoresPerSocket: p.cores,
		Nodes: p.nodes, Exposed: p.exposed(), Unit: p.unit, Reasons: p.reasons,
	}
	for _, r := range p.reasons {
		a.Grade = max(a.Grade, r.Grade)
	}
	a.Automatic = p.automatic()
	return a
}

// fits reports whether a host has a core for each vCPU, and the memory.
func (p *plan) fits(h Shape) bool {
	return p.m.VCPUs <= h.Cores() && (h.MemoryPerNode == 0 || p.m.Memory <= h.Memory())
}

// chooseHosts keeps the hosts that the VM fits, or else the largest one.
func (p *plan) chooseHosts(hosts []Shape) {
	var tooSmall []Shape
	largest := hosts[0]
	for _, h := range hosts {
		if p.fits(h) {
			p.hosts = append(p.hosts, h)
		} else {
			tooSmall = append(tooSmall, h)
		}
		if h.Cores() > largest.Cores() || h.Cores() == largest.Cores() && h.Memory() > largest.Memory() {
			largest = h
		}
	}
	if len(p.hosts) > 0 {
		if len(tooSmall) > 0 {
			p.say(Aligned, "T7", "%s is too small for it (%s, %s)%s: keep it off with a rule, or it will overcommit cores or swap there",
				tooSmall[0].Name, count(tooSmall[0].Cores(), "core"), memory(tooSmall[0].Memory()), andMore(len(tooSmall)-1))
		}
		return
	}
	p.hosts, p.exceeds = []Shape{largest}, true
	if p.m.VCPUs > largest.Cores() {
		p.say(ExceedsHost, "T7", "%s are more than the %s of %s, the largest host: vCPUs will wait for cores",
			count(p.m.VCPUs, "vCPU"), count(largest.Cores(), "physical core"), largest.Name)
	}
	if largest.MemoryPerNode > 0 && p.m.Memory > largest.Memory() {
		p.say(ExceedsHost, "T7", "%s of memory are more than the %s of %s, the largest host: it cannot all be backed",
			memory(p.m.Memory), memory(largest.Memory()), largest.Name)
	}
	if p.m.VCPUs <= largest.Cores() && p.m.Memory <= largest.Memory() {
		p.say(ExceedsHost, "T7", "no host has both the cores and the memory for it")
	}
}

// spread computes the number of nodes and their sizes.
func (p *plan) spread() {
	n := p.m.VCPUs
	p.least = up(n, p.unit)
	byMemory := 1
	if p.nodeBytes > 0 {
		byMemory = int(min(int64(n), (p.m.Memory+p.nodeBytes-1)/p.nodeBytes))
	}
	if p.exceeds {
		p.least = min(p.least, p.most, n)
		byMemory = min(byMemory, p.most)
	}
	k := max(p.least, byMemory)
	if n%k != 0 && !p.o.Strict && !p.exceeds && n%(k+1) == 0 && p.packs(k+1) {
		k++
		p.say(Aligned, "T2", "%d nodes would be enough for %d vCPUs but do not divide them evenly: %d equal nodes are better", k-1, n, k)
	}
	shares := memoryShares(p.m.Memory, k)
	for i, vcpus := range sizes(n, k) {
		p.nodes = append(p.nodes, Node{VCPUs: vcpus, Memory: shares[i]})
	}
	p.sayNodes(k)
	p.sayMemory(k)
}

// packs reports whether equal nodes fit the nodes of every host, and are as many as those of
// the host with the most.
func (p *plan) packs(nodes int) bool {
	size := up(p.m.VCPUs, nodes)
	for _, h := range p.hosts {
		each := h.unit(p.o.PreferHT) / size
		if h.MemoryPerNode > 0 && p.m.Memory > 0 {
			share := up64(p.m.Memory, int64(nodes))
			each = int(min(int64(each), h.MemoryPerNode/share))
		}
		if each*h.Nodes() < nodes {
			return false
		}
	}
	return nodes <= p.most
}

func up64(n, d int64) int64 { return n/d + min(1, n%d) }

func (p *plan) sayNodes(k int) {
	n, what := p.m.VCPUs, "core"
	if p.o.PreferHT {
		what = "thread"
	}
	switch {
	case k == 1:
		fit := "fit"
		if n == 1 {
			fit = "fits"
		}
		p.say(Aligned, "T1", "%s %s a node of %s (%s): one node", count(n, "vCPU"), fit, count(p.unit, what), p.small.Name)
	case p.least == k:
		p.say(Aligned, "T1", "%d vCPUs are more than a node's %s (%s), so they are spread: %s", n, count(p.unit, what), p.small.Name, list(p.counts()))
	}
	if !p.uniform {
		p.say(Aligned, "T9", "hosts differ: %s has the smallest nodes, and counts", p.small.Name)
	}
	if n%k != 0 {
		p.say(Odd, "T7", "%d vCPUs do not divide evenly over %d nodes (%s)%s", n, k, list(p.counts()), p.evenCounts(k))
	}
	if k > 1 {
		p.sayShown(k)
	}
}

// evenCounts names the nearest numbers of vCPUs that divide evenly over the minimum number of
// nodes, the better one first: the one with fewer nodes, or else the larger one.
func (p *plan) evenCounts(k int) string {
	least := 1
	if k > p.least {
		least = k // its memory needs them
	}
	nodes := func(n int) int { return max(least, up(n, p.unit)) }
	cores, uneven := p.small.Cores(), func(n int) bool { return n%nodes(n) != 0 }
	below, above := min(p.m.VCPUs-1, cores), p.m.VCPUs+1
	for below > 1 && uneven(below) {
		below--
	}
	for above <= cores && uneven(above) {
		above++
	}
	say := func(n int) string {
		if nodes(n) == 1 {
			return fmt.Sprintf("%d vCPUs (one node)", n)
		}
		return fmt.Sprintf("%d vCPUs (%s)", n, list(sizes(n, nodes(n))))
	}
	switch {
	case above > cores:
		return ": give it " + say(below)
	case nodes(below) < nodes(above):
		return ": give it " + say(below) + ", or " + say(above)
	}
	return ": give it " + say(above) + ", or " + say(below)
}

// sayShown explains why the nodes are hidden from the guest.
func (p *plan) sayShown(k int) {
	n := p.m.VCPUs
	if p.m.HotAdd && !p.o.ExposeOnHotAdd {
		p.say(HotAddFlat, "T6", "CPU hot-add is enabled, so the guest sees one node instead of %d: disable it, or set exposeVnumaOnCpuHotadd", k)
	}
	if n < p.o.vnumaMin() {
		p.say(Flat, "T1", "it spans %d nodes, but the guest sees one, as it has fewer than %d vCPUs: set numa.vcpu.min=%d", k, p.o.vnumaMin(), min(n, p.unit))
	}
}

func (p *plan) sayMemory(k int) {
	if p.nodeBytes == 0 || p.m.Memory == 0 {
		p.say(Aligned, "T5", "whether its memory fits is unknown, as the memory of the hosts or of the VM is unknown")
		return
	}
	needs := up64(p.m.Memory, p.nodeBytes)
	if needs <= int64(p.least) {
		return
	}
	remote := (p.m.Memory - p.nodeBytes*int64(p.least)) / (p.m.Memory/100 + 1)
	p.say(MemorySplit, "T5", "%s of memory are more than the %s of %s: on as many nodes as its vCPUs need, about %d %% of it would be remote "+
		"(published: 31 %% of 384 GiB beside nodes of 256 GiB, at 56 to 73 %% more latency); the automatic layout does not consider that",
		memory(p.m.Memory), memory(p.nodeBytes*int64(p.least)), count(p.least, "node"), remote)
	if int64(k) < needs && !p.exceeds {
		p.say(MemorySplit, "T7", "%s are too few for the %d nodes that its memory needs: some of it stays remote", count(p.m.VCPUs, "vCPU"), needs)
	}
}

// group divides the vCPUs of each node among last-level caches.
func (p *plan) group() {
	largest := 1
	for i := range p.nodes {
		g := 1
		if p.cache < p.unit && !p.exceeds {
			g = cacheGroups(p.nodes[i].VCPUs, p.cache)
		}
		p.nodes[i].CacheGroups = g
		largest = max(largest, g)
	}
	if largest > 1 {
		p.say(SpansLLC, "T8", "a last-level cache serves %s, fewer than the %d vCPUs of a node: they form %d groups that share only memory",
			count(p.cache, "vCPU"), p.nodes[0].VCPUs, largest)
	}
}

func (p *plan) counts() []int {
	var s []int
	for _, n := range p.nodes {
		s = append(s, n.VCPUs)
	}
	return s
}

func (p *plan) even() bool { return p.m.VCPUs%len(p.nodes) == 0 }

func (p *plan) exposed() bool {
	return len(p.nodes) > 1 && p.m.VCPUs >= p.o.vnumaMin() && (!p.m.HotAdd || p.o.ExposeOnHotAdd)
}

// automatic reports whether vSphere 8 would choose the same nodes and sockets at power-on.
func (p *plan) automatic() bool {
	k := len(p.nodes)
	return !p.exceeds && p.uniform && k == p.least && p.even() && p.cores == p.m.VCPUs/k &&
		p.cache >= p.nodes[0].VCPUs && p.exposed() == (k > 1) && (k == 1 || p.m.VCPUs >= DefaultVNUMAMin)
}

// memory is an amount as text.
func memory(bytes int64) string {
	if bytes == 0 {
		return "memory unknown"
	}
	return cluster.MiB(bytes)
}
