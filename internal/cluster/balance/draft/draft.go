// Package draft is a cluster with the moves planned so far: where VMs run afterwards, the
// loads and losses of hosts, and the time left for migrations. Moves can be undone.
package draft

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/unit"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// Draft is an unfinished plan. Its fields are read-only; Move and Undo change it.
type Draft struct {
	Cluster *cluster.Cluster
	Index   *cluster.Index
	Layout  *cluster.Layout // after the moves so far; a search may change it for a moment
	Units   *unit.Units
	Model   *contention.Model
	Placer  *place.Placer
	Options advice.Options
	Plan    advice.Plan
	Hosts   []Host // with the moves so far
	Clock   Clock

	// Loads of the hosts that can be used, in all and the least of each resource. They are kept
	// up to date once the clock runs.
	Mean, Lightest contention.Pair

	core   int64 // MHz by which the size of VMs is counted
	steps  int
	moves  []int8                // of each VM
	remote []int64               // by VM: the least that it loses on remote memory on any host, in millionths; nil by deviation
	strain map[place.Step]string // why steps would use up spare capacity
}

// New drafts a plan for a layout, which it changes.
func New(l *cluster.Layout, x *cluster.Index, o advice.Options) *Draft {
	c := l.Cluster()
	d := &Draft{
		Cluster: c, Index: x, Layout: l, Units: unit.New(c), Model: contention.NewModel(c, x), Placer: place.Again(l, x), Options: o,
		Hosts: make([]Host, len(c.Hosts)), Clock: Clock{c: c, interval: o.Interval},
		core: cluster.CoreSpeed(c), moves: make([]int8, len(c.VMs)), remote: leastRemote(c), strain: map[place.Step]string{},
	}
	for h := range cluster.HostID(len(d.Hosts)) {
		d.Hosts[h].Capacity = x.Capacity(h)
		for _, v := range l.On(h) {
			d.Hosts[h].Burden = d.Hosts[h].Burden.Plus(d.Burden(d.Units.Alone(v), h), 1)
		}
		d.refresh(h)
	}
	d.average()
	return d
}

// Move plans a step: the VMs of a unit go to a host, for the reason of a move.
func (d *Draft) Move(vms []cluster.VMID, to cluster.HostID, like advice.Move) {
	d.steps++
	for _, v := range vms {
		if from := d.Layout.Host(v); from != to {
			like.Step = place.Step{VM: v, From: from, To: to}
			d.enter(like)
		}
	}
	if d.Clock.running() {
		d.average()
	}
}

func (d *Draft) enter(m advice.Move) {
	from, to := &d.Hosts[m.From].Loads, &d.Hosts[m.To].Loads
	if m.Number = d.steps; m.Partner == cluster.Nowhere {
		m.Relieves = m.From
	}
	m.FromBefore, m.ToBefore = from.Max(), to.Max()
	d.relocate(m.VM, m.To, 1)
	m.FromAfter, m.ToAfter = from.Max(), to.Max()
	d.Clock.spend(m.Step, 1)
	d.Plan.Moves = append(d.Plan.Moves, m)
}

// relocate has a VM run on another host, for a move more or one less.
func (d *Draft) relocate(v cluster.VMID, to cluster.HostID, sign int8) {
	from, one := d.Layout.Host(v), d.Units.Alone(v)
	d.Hosts[from].Burden = d.Hosts[from].Burden.Plus(d.Burden(one, from), -1)
	d.Hosts[to].Burden = d.Hosts[to].Burden.Plus(d.Burden(one, to), 1)
	d.moves[v] += sign
	d.Layout.Move(v, to)
	d.refresh(from)
	d.refresh(to)
}

// Undo takes the moves from one on out of the plan.
func (d *Draft) Undo(begin int) {
	for _, m := range slices.Backward(d.Plan.Moves[begin:]) {
		d.relocate(m.VM, m.From, -1)
		d.Clock.spend(m.Step, -1)
	}
	if d.steps = 0; begin > 0 {
		d.steps = d.Plan.Moves[begin-1].Number
	}
	if d.Plan.Moves = d.Plan.Moves[:begin]; d.Clock.running() {
		d.average()
	}
}

// Balancing begins the moves for load balance: from now on they take time.
func (d *Draft) Balancing() {
	d.Clock.start(d.Plan.Moves)
	d.average()
}

// Moved reports whether a VM has a move.
func (d *Draft) Moved(v cluster.VMID) bool { return d.moves[v] > 0 }

// MayMove reports whether a VM may make a move that is not mandatory.
func (d *Draft) MayMove(v cluster.VMID) bool {
	h := d.Layout.Host(v)
	return h != cluster.Nowhere && !d.Moved(v) && !d.Cluster.VMs[v].Pinned && d.Cluster.Hosts[h].Runs() &&
		(d.Options.Cooling == nil || !d.Options.Cooling(v))
}

// MayAllMove reports the same of all VMs of a unit.
func (d *Draft) MayAllMove(vms []cluster.VMID) bool {
	return !slices.ContainsFunc(vms, func(v cluster.VMID) bool { return !d.MayMove(v) })
}

// Left reports whether a VM left a host recently.
func (d *Draft) Left(v cluster.VMID, h cluster.HostID) bool {
	return d.Options.Left != nil && d.Options.Left(v, h)
}

// Strains finds out whether a step with its unit would use up spare capacity. That takes long,
// so that the answer is kept.
func (d *Draft) Strains(s place.Step) bool {
	steps := []place.Step{}
	for _, v := range d.Units.With(d.Layout, s.VM) {
		steps = append(steps, place.Step{VM: v, From: s.From, To: s.To})
	}
	why := d.Placer.Strains(steps...)
	if why != "" {
		d.strain[s] = why
	}
	return why != ""
}

// Strain is why a step would use spare capacity, as far as Strains has computed it; empty
// otherwise.
func (d *Draft) Strain(s place.Step) string { return d.strain[s] }
