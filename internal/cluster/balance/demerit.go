package balance

import "plimsoll/internal/cluster"

// evenShare is how many times less than its contention a host's unevenness counts: enough to
// choose among moves that gain as much, and too little to outweigh what they gain.
const evenShare = 8

// scale makes hosts of all sizes and both resources comparable.
type scale struct {
	weight []Pair // by host: capacity in 64ths of the mean of those that can be used
	mhz    int64  // demerit of one MHz of contention; 0 where the spread alone decides
	most   int64  // contention that is told apart, in MHz
	even   bool   // evenness counts as a gain: level 5 where moves are judged by cost and benefit
}

// full is the demerit of the mean host where a resource is in full use.
const full = million * million * 64

func newScale(c *cluster.Cluster, x *cluster.Index) scale {
	s := scale{weight: make([]Pair, len(c.Hosts))}
	var all cluster.Resources
	n := int64(0)
	for h := range c.Hosts {
		if c.Hosts[h].Usable() {
			all, n = all.Plus(x.Capacity(cluster.HostID(h))), n+1
		}
	}
	n = max(1, n)
	for h := range s.weight {
		own := x.Capacity(cluster.HostID(h))
		s.weight[h] = Pair{weight(own.CPU, all.CPU/n), weight(own.Memory, all.Memory/n)}
	}
	if c.Settings.CostBenefit {
		s.mhz = max(1, evenShare*full/max(1, all.CPU/n))
		s.most = 1 << 61 / s.mhz
		s.even = c.Settings.Level >= 5 && c.Settings.Model == cluster.ByDeviation
	}
	return s
}

// rounding is by how many MHz unevenness of four loads may be off in all.
func (s *scale) rounding() int64 {
	if !s.even {
		return 0
	}
	return 4
}

// mostWeight is the weight of 16 times the mean.
const mostWeight = 16 * 64

// weight is an amount in 64ths of the mean, at most 16 times of it.
func weight(own, mean int64) int64 { return min(mostWeight, load(own, max(1, mean))*64/million) }

// demerit is what the model of deviation makes of a host that is asked for so much: the
// squares of its loads, by its size, which are least in all where the loads are equal; and
// by far more its contention, where moves are judged by cost and benefit. Cost is the
// contention in MHz, with unevenness at level 5.
func (r *round) demerit(h cluster.HostID, demand cluster.Resources) (demerit, cost int64) {
	all, w := r.x.Capacity(h), &r.scale.weight[h]
	cpu, memory := load(demand.CPU, all.CPU), load(demand.Memory, all.Memory)
	cost = contention(demand, all, cpu, r.limit)
	squares := square(cpu)*w.CPU + square(memory)*w.Memory
	return squares + min(cost, r.scale.most)*r.scale.mhz, cost + r.scale.unevenness(squares)
}

// unevenness is what weighted squares of loads cost at level 5, in MHz; below it they cost
// nothing.
//
// Source: VMware vSphere Resource Management, "DRS migration threshold": level 5 applies
// recommendations that promise even a slight improvement of the balance.
func (s *scale) unevenness(squares int64) int64 {
	if !s.even {
		return 0
	}
	return squares / s.mhz
}

// square is that of a load, up to 20 times the capacity.
func square(load int64) int64 {
	v := min(load, 20*million)
	return v * v
}
