package replay

import (
	"plimsoll/internal/cluster"
)

// next is the time until which nothing changes.
func (w *world) next() int64 {
	at := min(w.end, w.look, w.sampled, w.round, w.alarm)
	if len(w.events) > 0 {
		at = min(at, w.events[0].At*second)
	}
	for _, t := range w.boots {
		if t > w.now {
			at = min(at, t)
		}
	}
	for i := range w.flights.list {
		f := &w.flights.list[i]
		at = min(at, f.began+patience)
		if speed := w.bandwidth(f) - w.c.VMs[f.vm].Demand.Dirty; speed > 0 {
			at = min(at, w.now+(f.left/speed*second+(f.left%speed*second+speed-1)/speed))
		}
	}
	return max(at, w.now+1)
}

// spend advances the time.
func (w *world) spend(until int64) {
	took := until - w.now
	if w.changed {
		w.broken, w.changed = int64(len(cluster.Violations(w.c, func(v cluster.VMID) cluster.HostID { return w.c.VMs[v].Host }))), false
	}
	w.out.Violated += w.broken * took
	w.serve(took)
	for i := range w.flights.list {
		f := &w.flights.list[i]
		speed := w.bandwidth(f)
		w.out.Copied += speed / second * took
		f.left -= max(0, speed-w.c.VMs[f.vm].Demand.Dirty) * took / second
		if f.left < second { // less than a millisecond of any network
			f.left = 0
		}
	}
	w.now = until
}

// serve delivers the capacity of hosts to VMs for some milliseconds. A host with enough
// capacity delivers all entitlements.
func (w *world) serve(took int64) {
	wanted := make([]cluster.Resources, len(w.c.Hosts))
	residents := make([]int, len(w.c.Hosts))
	for v := range w.c.VMs {
		if w.due[v] {
			w.out.Entitled = w.out.Entitled.Plus(over(w.entitled[v], took))
		}
		switch h := w.c.VMs[v].Host; {
		case !w.due[v]:
		case h == cluster.Nowhere || !w.c.Hosts[h].Runs() || w.boots[v] > 0:
			w.out.Short = w.out.Short.Plus(over(w.entitled[v], took))
		default:
			wanted[h] = wanted[h].Plus(w.entitled[v])
			residents[h]++
		}
	}
	for i := range w.flights.list {
		f := &w.flights.list[i]
		wanted[f.to].Memory += w.entitled[f.vm].Memory * copiedShare(w.c.VMs[f.vm].Memory, f.left) / 1000
		wanted[f.from].CPU += w.effort(f)
		wanted[f.to].CPU += w.effort(f)
	}
	for h := range w.c.Hosts {
		if !w.c.Hosts[h].Runs() {
			continue
		}
		all := w.x.Capacity(cluster.HostID(h))
		lacks := cluster.Resources{CPU: max(0, wanted[h].CPU-all.CPU), Memory: max(0, wanted[h].Memory-all.Memory)}
		w.out.Short = w.out.Short.Plus(over(lacks, took))
		if lacks != (cluster.Resources{}) {
			w.out.Overload += took
		} else {
			w.out.Satisfied += int64(residents[h]) * took
		}
		if w.c.Hosts[h].State == cluster.Maintenance && residents[h] > 0 {
			w.out.Draining += took
		}
	}
}

// over is an amount during some milliseconds: MHz and MiB times milliseconds.
func over(r cluster.Resources, took int64) cluster.Resources {
	return cluster.Resources{CPU: r.CPU * took, Memory: r.Memory >> 20 * took}
}

// copiedShare is the part of a VM's memory that is on both hosts, per mille.
func copiedShare(memory, left int64) int64 {
	if memory <= 0 {
		return 1000
	}
	return (memory - min(left, memory)) / max(1, memory/1000)
}

// bandwidth is the network bandwidth of a move in bytes per second: four fifths of that of the
// slower end, shared with its other moves.
func (w *world) bandwidth(f *flight) int64 {
	end := func(h cluster.HostID) int64 { return w.c.Hosts[h].NIC / 8 * 4 / 5 / int64(max(1, w.flights.moving(h))) }
	return min(end(f.from), end(f.to))
}

// effort is the CPU use of a move on each of its hosts, in MHz: a tenth of a core per Gbit/s,
// at least 0.3 and at most one core.
//
// Source: Denneman, "Contention on lightly utilized hosts".
func (w *world) effort(f *flight) int64 {
	core := cluster.CoreSpeed(w.c)
	return core * min(1000, max(300, w.bandwidth(f)*8/10_000_000)) / 1000
}
