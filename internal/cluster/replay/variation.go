package replay

import (
	"math"

	"plimsoll/internal/cluster"
)

// Variation makes the single move that evens hosts most when their loads' coefficient of
// variation is above 0.3 in three rounds of ten seconds, the move lowers it by a tenth at
// least and nothing else moves.
//
// Source: the description of the dynamic mode of the cluster resource scheduler of
// Proxmox VE 9.2.
type Variation struct{ held int }

// NewVariation is that policy.
func NewVariation() Policy { return &Variation{} }

// Every is ten seconds.
func (*Variation) Every() int64 { return 10 }

// Round makes at most one move for the load.
func (p *Variation) Round(v *View) []Step {
	const (
		trigger = .3
		rounds  = 3
		gain    = .1
	)
	r := rival{v: v}
	r.must()
	hosts := r.usable()
	load := make([]float64, len(v.Cluster.Hosts))
	for _, h := range hosts {
		cpu, memory := r.loads(h)
		load[h] = (cpu + memory) / 2
	}
	now := variation(hosts, load)
	if p.held++; now <= trigger {
		p.held = 0
	}
	if p.held < rounds || r.anyMoving() || len(r.steps) > 0 {
		return r.steps
	}
	best, to, vm := now*(1-gain), cluster.HostID(cluster.Nowhere), cluster.VMID(0)
	for _, candidate := range r.free() {
		from := v.Layout.Host(candidate)
		for _, h := range hosts {
			if !r.may(candidate, h) {
				continue
			}
			was := [2]float64{load[from], load[h]}
			load[from], load[h] = r.half(from, candidate, -1), r.half(h, candidate, 1)
			if c := variation(hosts, load); c < best {
				best, to, vm = c, h, candidate
			}
			load[from], load[h] = was[0], was[1]
		}
	}
	if to != cluster.Nowhere {
		r.move(vm, to, "variation")
		p.held = 0
	}
	return r.steps
}

// half is the mean load of both resources of a host with a VM more or less.
func (r *rival) half(h cluster.HostID, v cluster.VMID, sign int64) float64 {
	asks := r.v.Index.Demand(v)
	cpu, memory := shares(r.v.Layout.Demand(h).Plus(cluster.Resources{CPU: sign * asks.CPU, Memory: sign * asks.Memory}), r.v.Index.Capacity(h))
	return (cpu + memory) / 2
}

func variation(hosts []cluster.HostID, load []float64) float64 {
	mean, deviation := moments(hosts, load)
	if mean == 0 {
		return 0
	}
	return deviation / mean
}

// moments are the mean and the standard deviation of the loads of hosts.
func moments(hosts []cluster.HostID, load []float64) (mean, deviation float64) {
	if len(hosts) == 0 {
		return 0, 0
	}
	for _, h := range hosts {
		mean += load[h]
	}
	mean /= float64(len(hosts))
	for _, h := range hosts {
		deviation += (load[h] - mean) * (load[h] - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(hosts)))
}
