package sca

// work is the work with every vCPU busy, per mille of a core. VMs use spare cores before they
// share cores; where VMs must take turns under SCAv2, each gets cores in proportion to its
// minimum.
func (l load) work(p Policy) int64 {
	c := l.cores
	if l.threads == 1 {
		return min(l.vcpus, c) * one
	}
	switch p {
	case Default:
		if l.vcpus <= c {
			return l.vcpus * one
		}
		return c*one + min(l.vcpus-c, c)*(l.yield-one)
	case V1:
		return min(l.vcpus, c) * one
	case V2:
		if l.fills {
			return c * one * (1000 - fillCost) / 1000
		}
		least, packed := l.packed()
		if least >= c {
			return c * packed / least
		}
		return packed + min(c-least, l.pairs)*(2*one-l.yield)
	}
	return 0
}

// packed is the minimum number of cores for the VMs under SCAv2, and their work on them.
func (l load) packed() (cores, work int64) {
	return l.pairs + l.odd, l.pairs*l.yield + l.odd*one
}

// full is the work of a core, per mille, with more such VMs than fit, times the number of
// cores that it is computed on, to avoid rounding.
func (l load) full(p Policy) int64 {
	least, packed := l.packed()
	if l.threads == 1 {
		return one * least
	}
	switch p {
	case Default:
		return l.yield * least
	case V1:
		return one * least
	case V2:
		if l.fills {
			return one * least * (1000 - fillCost) / 1000
		}
		return packed
	}
	return 0
}

// idle is the number of threads that no vCPU may use while all VMs run.
func (l load) idle(p Policy) int {
	if l.threads == 1 {
		return 0
	}
	switch p {
	case V1:
		return int(l.cores)
	case V2:
		return int(min(l.odd, l.cores))
	}
	return 0
}
