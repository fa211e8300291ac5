package strategy

import (
	"math"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/cluster/replay"
	"plimsoll/internal/cluster/scenario"
)

// Cool-down times, in seconds.
const (
	cooldown = 1800 // a VM that was moved stays
	noReturn = 3600 // and does not return to its former host
)

// Own is plimsoll's policy, of package balance.
type Own struct {
	seen   [][]cluster.Resources // in the last rounds
	budget int                   // remaining moves for load balance
	least  int                   // lowest budget so far
	moved  map[cluster.VMID]int64
	left   map[leave]int64
	asked  []asked // in the last round
}

// asked is a requested move.
type asked struct {
	vm       cluster.VMID
	from, to cluster.HostID
	counted  bool // counted in the budget
}

type leave struct {
	vm   cluster.VMID
	host cluster.HostID
}

// Unlimited is a budget that is never exhausted.
const Unlimited = math.MaxInt

// NewOwn is our policy with a budget of moves. Mandatory moves count, but are made even if it
// is exhausted.
func NewOwn(moves int) *Own {
	return &Own{budget: moves, least: moves, moved: map[cluster.VMID]int64{}, left: map[leave]int64{}}
}

// Needed is the smallest budget that would not have changed any decision.
func (o *Own) Needed() int { return Unlimited - o.least }

// Every is the interval at which demand changes.
func (o *Own) Every() int64 { return scenario.Step }

// confirmed is the number of consecutive samples that must confirm a change of demand.
const confirmed = 3

// observe limits the long-term demand of VMs to the range of the last samples: a burst of one
// sample has no effect, and a lasting change takes effect within a minute.
func (o *Own) observe(v *replay.View) {
	o.seen = append(o.seen, v.Latest)
	o.seen = o.seen[max(0, len(o.seen)-confirmed):]
	for i := range v.Cluster.VMs {
		low, high := o.seen[0][i], o.seen[0][i]
		for _, s := range o.seen[1:] {
			low = cluster.Resources{CPU: min(low.CPU, s[i].CPU), Memory: min(low.Memory, s[i].Memory)}
			high = cluster.Resources{CPU: max(high.CPU, s[i].CPU), Memory: max(high.Memory, s[i].Memory)}
		}
		vm := &v.Cluster.VMs[i]
		d := &vm.Demand
		d.CPU.Recent = min(max(d.CPU.Recent, float64(low.CPU)), float64(high.CPU))
		d.Active.Recent = min(max(d.Active.Recent, float64(low.Memory-vm.Overhead)), float64(high.Memory-vm.Overhead))
	}
	v.Index = cluster.NewIndex(v.Cluster)
	v.Layout = cluster.NewLayout(v.Cluster, v.Index)
}

// Round starts VMs, and then makes the moves of a round of the balancer.
func (o *Own) Round(v *replay.View) []replay.Step {
	o.observe(v)
	o.forget(v)
	out := o.starts(v)
	recent := func(at int64, known bool, within int64) bool { return known && v.Now-at < within }
	plan := balance.Round(v.Layout, v.Index, advice.Options{
		Cooling: func(vm cluster.VMID) bool {
			at, known := o.moved[vm]
			return v.Moving[vm] || recent(at, known, cooldown)
		},
		Left: func(vm cluster.VMID, h cluster.HostID) bool {
			at, known := o.left[leave{vm, h}]
			return recent(at, known, noReturn)
		},
	})
	base := len(out)
	for _, m := range plan.Moves {
		if o.budget == 0 && !m.Reason.Mandatory() {
			break
		}
		counted := o.budget > 0 && m.Reason != advice.HostFailed
		if counted {
			o.budget--
			o.least = min(o.least, o.budget)
		}
		o.asked = append(o.asked, asked{m.VM, m.From, m.To, counted})
		o.moved[m.VM], o.left[leave{m.VM, m.From}] = v.Now, v.Now
		out = append(out, replay.Step{VM: m.VM, To: m.To, Number: base + m.Number, Reason: string(m.Reason)})
	}
	return out
}

// forget drops the records of requested moves that never started because hosts were busy: this
// round decides again.
func (o *Own) forget(v *replay.View) {
	for _, a := range o.asked {
		if v.Moving[a.vm] || v.Layout.Host(a.vm) == a.to {
			continue
		}
		delete(o.moved, a.vm)
		delete(o.left, leave{a.vm, a.from})
		if a.counted {
			o.budget++
		}
	}
	o.asked = o.asked[:0]
}

// starts places the VMs without a host.
func (o *Own) starts(v *replay.View) (out []replay.Step) {
	var vms []cluster.VMID
	for i := range v.Cluster.VMs {
		if v.Down[i] && v.Cluster.VMs[i].Host == cluster.Nowhere {
			vms = append(vms, cluster.VMID(i))
		}
	}
	if len(vms) == 0 {
		return nil
	}
	for _, c := range place.New(v.Layout, v.Index).Group(vms) {
		for _, s := range c.First {
			out = append(out, replay.Step{VM: s.VM, To: s.To, Number: len(out) + 1, Reason: string(advice.MakeRoom)})
		}
		if c.Host != cluster.Nowhere {
			out = append(out, replay.Step{VM: c.VM, To: c.Host, Number: len(out) + 1, Reason: "start"})
		}
	}
	return out
}
