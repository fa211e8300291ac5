package strategy

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/replay"
)

// descent repeats the move that most reduces the sum of the standard deviations of the hosts'
// CPU loads, memory loads and numbers of VMs, until none reduces it enough.
//
// Source: the description of hbal of Ganeti, with those of its metrics that apply to shared
// storage.
func descent(r *decision) {
	const (
		least = .01 // minimum gain of a move
		most  = 50  // maximum moves per round
	)
	hosts := r.usable()
	vms := r.free()
	for range most {
		s := r.score(hosts)
		now := s.sum(hosts)
		best, vm, to := now-least, cluster.VMID(0), cluster.HostID(cluster.Nowhere)
		for _, candidate := range vms {
			from := r.v.Layout.Host(candidate)
			for _, h := range hosts {
				if !r.may(candidate, h) {
					continue
				}
				s.shift(r.v, candidate, [2]cluster.HostID{from, h})
				if sum := s.sum(hosts); sum < best {
					best, vm, to = sum, candidate, h
				}
				s.shift(r.v, candidate, [2]cluster.HostID{h, from})
			}
		}
		if to == cluster.Nowhere {
			break
		}
		r.move(vm, to, "descent")
	}
}

// score holds the balanced quantities: by metric and host.
type score struct{ metric [3][]float64 }

func (r *decision) score(hosts []cluster.HostID) *score {
	s := &score{}
	for i := range s.metric {
		s.metric[i] = make([]float64, len(r.v.Cluster.Hosts))
	}
	mean := float64(len(r.v.Cluster.VMs)) / float64(max(1, len(hosts)))
	for _, h := range hosts {
		s.metric[0][h], s.metric[1][h] = r.loads(h)
		s.metric[2][h] = float64(len(r.v.Layout.On(h))) / max(1, mean) * countWeight
	}
	return s
}

// countWeight keeps numbers of VMs from outweighing loads.
const countWeight = .25

// shift moves a VM from the first host to the second.
func (s *score) shift(v *replay.View, vm cluster.VMID, way [2]cluster.HostID) {
	asks := v.Index.Demand(vm)
	for i, h := range way {
		sign := float64(2*i - 1)
		cpu, memory := shares(asks, v.Index.Capacity(h))
		s.metric[0][h] += sign * cpu
		s.metric[1][h] += sign * memory
		s.metric[2][h] += sign * countWeight / max(1, float64(len(v.Cluster.VMs))/float64(max(1, len(v.Cluster.Hosts))))
	}
}

func (s *score) sum(hosts []cluster.HostID) float64 {
	sum := 0.
	for i := range s.metric {
		_, deviation := moments(hosts, s.metric[i])
		sum += deviation
	}
	return sum
}
