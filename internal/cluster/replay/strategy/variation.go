package strategy

import (
	"math"
	"slices"

	"plimsoll/internal/cluster"
)

// variation makes the single move that reduces imbalance most, if the coefficient of variation
// of the hosts' loads was above 0.3 in three rounds of ten seconds, the move reduces it by at
// least a tenth and no other move is in progress.
//
// Source: the description of the dynamic mode of the cluster resource scheduler of Proxmox VE
// 9.2.
type variation struct{ held int } // rounds above the trigger

// balance makes at most one move.
func (p *variation) balance(r *decision) {
	const (
		trigger = .3
		rounds  = 3
		gain    = .1
	)
	hosts := r.usable()
	load := make([]float64, len(r.v.Cluster.Hosts))
	for _, h := range hosts {
		cpu, memory := r.loads(h)
		load[h] = (cpu + memory) / 2
	}
	now := coefficient(hosts, load)
	if p.held++; now <= trigger {
		p.held = 0
	}
	if p.held < rounds || slices.Contains(r.v.Moving, true) || len(r.steps) > 0 {
		return
	}
	best, to, vm := now*(1-gain), cluster.HostID(cluster.Nowhere), cluster.VMID(0)
	for _, candidate := range r.free() {
		from := r.v.Layout.Host(candidate)
		for _, h := range hosts {
			if !r.may(candidate, h) {
				continue
			}
			was := [2]float64{load[from], load[h]}
			load[from], load[h] = r.half(from, candidate, -1), r.half(h, candidate, 1)
			if c := coefficient(hosts, load); c < best {
				best, to, vm = c, h, candidate
			}
			load[from], load[h] = was[0], was[1]
		}
	}
	if to != cluster.Nowhere {
		r.move(vm, to, "variation")
		p.held = 0
	}
}

// half is the mean load of both resources of a host with a VM more or less.
func (r *decision) half(h cluster.HostID, v cluster.VMID, sign int64) float64 {
	asks := r.v.Index.Demand(v)
	cpu, memory := shares(r.v.Layout.Demand(h).Plus(cluster.Resources{CPU: sign * asks.CPU, Memory: sign * asks.Memory}), r.v.Index.Capacity(h))
	return (cpu + memory) / 2
}

// coefficient is the coefficient of variation of the loads of hosts.
func coefficient(hosts []cluster.HostID, load []float64) float64 {
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
