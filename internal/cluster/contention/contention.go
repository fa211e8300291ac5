// Package contention computes the losses of VMs that share a host: to waiting for cores, to
// memory reclamation and to remote memory. It also measures how unevenly hosts are loaded.
package contention

import (
	"math/bits"

	"plimsoll/internal/cluster"
)

const million = 1_000_000

// Pair is a number for each resource.
type Pair struct{ CPU, Memory int64 }

// Load is a demand in millionths of a capacity, capped at a thousand times the capacity.
func Load(demand, capacity int64) int64 {
	if demand <= 0 {
		return 0
	}
	if capacity <= 0 {
		return 1000 * million
	}
	const short = 1 << 43 // below it the product does not overflow
	if demand < short {
		return min(demand*million/capacity, 1000*million)
	}
	high, low := bits.Mul64(uint64(demand), million)
	if high >= uint64(capacity) {
		return 1000 * million
	}
	q, _ := bits.Div64(high, low, uint64(capacity))
	return int64(min(q, 1000*million))
}

// Loss is the part of its work that a VM loses on a host with a given load, in millionths:
// none up to the threshold, then a quarter of the excess, for waiting for cores and shared
// caches; above the capacity also all unserved demand.
func Loss(load, threshold int64) int64 {
	switch {
	case load <= threshold:
		return 0
	case load <= million:
		return (load - threshold) / 4
	}
	return min(million, (million-threshold)/4+(load-million)*million/load)
}

// Threshold is the load up to which a host serves its VMs undisturbed: half, or less if the
// operator keeps more free.
func Threshold(s cluster.Settings) int64 {
	if s.Level >= 4 {
		return 300_000 - int64(s.Headroom)*1000
	}
	return 500_000 - int64(s.Headroom)*1000
}

// Lost is the demand that is delayed or not served on a host, in MHz, by the resource with the
// larger loss.
func Lost(demand cluster.Resources, capacity cluster.Resources, limit int64) int64 {
	return Part(demand.CPU, max(Loss(Load(demand.CPU, capacity.CPU), limit), Memory(demand.Memory, capacity.Memory)))
}

// Spread is the difference between the highest and the lowest value.
func Spread(values []int64) int64 {
	if len(values) == 0 {
		return 0
	}
	low, high := values[0], values[0]
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	return high - low
}

// Deviation is the standard deviation of loads, in whole millionths.
func Deviation(values []int64) int64 {
	n := int64(len(values))
	if n == 0 {
		return 0
	}
	sum := int64(0)
	for _, v := range values {
		sum += v
	}
	mean, squares := sum/n, uint64(0)
	for _, v := range values {
		d := min(v-mean, 3_000_000_000)
		squares += uint64(d*d) / uint64(n)
	}
	return int64(Root(squares))
}

// Root is the integer square root.
func Root(v uint64) uint64 {
	if v < 2 {
		return v
	}
	r := uint64(1) << ((bits.Len64(v) + 1) / 2)
	for {
		next := (r + v/r) / 2
		if next >= r {
			return r
		}
		r = next
	}
}

// Part is a number of millionths of an amount.
func Part(amount, millionths int64) int64 {
	high, low := bits.Mul64(uint64(max(0, amount)), uint64(max(0, millionths)))
	q, _ := bits.Div64(high, low, million)
	return int64(q)
}

// Loads are demands of both resources in millionths of a capacity.
func Loads(demand, capacity cluster.Resources) Pair {
	return Pair{CPU: Load(demand.CPU, capacity.CPU), Memory: Load(demand.Memory, capacity.Memory)}
}

// Max is the larger of both.
func (p Pair) Max() int64 { return max(p.CPU, p.Memory) }
