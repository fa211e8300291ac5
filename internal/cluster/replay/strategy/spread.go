package strategy

import (
	"math"

	"plimsoll/internal/cluster"
)

// spread moves VMs to the least loaded host, the largest first, while the loads of hosts
// differ by more than ten points.
//
// Source: the description of ProxLB's balancing (balanciness 10, largest group first, most
// free node); ours uses the resource with the larger spread.
func spread(r *decision) {
	const wanted = .1
	vms := r.free()
	r.largestFirst(vms)
	for _, vm := range vms {
		apart, of := r.apart()
		if apart <= wanted {
			break
		}
		if to := r.mostFree(of); to != cluster.Nowhere && r.may(vm, to) {
			r.move(vm, to, "spread")
		}
	}
}

// apart is the larger spread of both resources, and whether it is that of memory.
func (r *decision) apart() (apart float64, memory bool) {
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, h := range r.usable() {
		cpu, mem := r.loads(h)
		for i, l := range [2]float64{cpu, mem} {
			low[i], high[i] = min(low[i], l), max(high[i], l)
		}
	}
	if high[1]-low[1] > high[0]-low[0] {
		return high[1] - low[1], true
	}
	return high[0] - low[0], false
}

func (r *decision) mostFree(memory bool) cluster.HostID {
	best, least := cluster.HostID(cluster.Nowhere), math.Inf(1)
	for _, h := range r.usable() {
		load, mem := r.loads(h)
		if memory {
			load = mem
		}
		if load < least {
			best, least = h, load
		}
	}
	return best
}
