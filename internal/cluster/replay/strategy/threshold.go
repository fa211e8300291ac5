package strategy

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/replay"
)

// threshold moves the busiest VM of a host above a threshold to the least loaded host; a VM
// then stays for half an hour, and at most two move at a time.
//
// Source: the description of the performance mode of the load balancer of Xen Orchestra: CPU
// at 0.85 of 90 %, or little free memory; averages of half an hour, weighted 75 to 25 with the
// latest.
type threshold struct {
	mean  []cluster.Resources
	moved map[cluster.VMID]int64
}

func newThreshold() *threshold { return &threshold{moved: map[cluster.VMID]int64{}} }

func (p *threshold) balance(r *decision) {
	const (
		hot      = .85 * .9
		full     = .9
		cooldown = 1800
		most     = 2
	)
	v := r.v
	p.observe(v)
	moving := 0
	for i := range v.Moving {
		if v.Moving[i] {
			moving++
		}
	}
	for _, from := range r.usable() {
		cpu, memory := p.load(v, from)
		if cpu < hot && memory < full || moving >= most {
			continue
		}
		best, asked := cluster.VMID(-1), int64(-1)
		for _, vm := range r.free() {
			at, known := p.moved[vm]
			if v.Layout.Host(vm) != from || known && v.Now-at < cooldown {
				continue
			}
			if asks := p.asks(v, vm).CPU; asks > asked {
				best, asked = vm, asks
			}
		}
		if best < 0 {
			continue
		}
		to, least := cluster.HostID(cluster.Nowhere), hot
		for _, h := range r.usable() {
			if c, m := p.load(v, h); r.may(best, h) && c < least && m < full {
				to, least = h, c
			}
		}
		if to != cluster.Nowhere {
			r.move(best, to, "threshold")
			p.moved[best] = v.Now
			moving++
		}
	}
}

// observe updates means over about half an hour.
func (p *threshold) observe(v *replay.View) {
	const rounds = 30
	if p.mean == nil {
		p.mean = append([]cluster.Resources(nil), v.Latest...)
	}
	for i, now := range v.Latest {
		p.mean[i].CPU += (now.CPU - p.mean[i].CPU) / rounds
		p.mean[i].Memory += (now.Memory - p.mean[i].Memory) / rounds
	}
}

func (p *threshold) asks(v *replay.View, vm cluster.VMID) cluster.Resources {
	return cluster.Resources{CPU: (3*p.mean[vm].CPU + v.Latest[vm].CPU) / 4, Memory: (3*p.mean[vm].Memory + v.Latest[vm].Memory) / 4}
}

func (p *threshold) load(v *replay.View, h cluster.HostID) (cpu, memory float64) {
	var sum cluster.Resources
	for _, vm := range v.Layout.On(h) {
		sum = sum.Plus(p.asks(v, vm))
	}
	return shares(sum, v.Index.Capacity(h))
}
