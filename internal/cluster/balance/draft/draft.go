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
	Layout  *cluster.Layout // after the moves so far; a search may change it temporarily
	Units   *unit.Units
	Model   *contention.Model
	Placer  *place.Placer
	Options advice.Options
	Plan    advice.Plan
	Hosts   []Host // after the moves so far
	Clock   Clock

	// Mean load of the usable hosts, and the lowest per resource. They are kept up to date
	// once the clock runs.
	Mean, Lightest contention.Pair

	core   int64 // MHz per core in the size of VMs
	steps  int
	moves  []int8                // number of moves per VM
	remote []int64               // by VM: lowest loss to remote memory on any host, in millionths; nil under the deviation model
	strain map[place.Step]string // why steps would use spare capacity
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

// Move plans a step: the VMs of a unit move to a host, for the reason of a move.
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

// relocate moves a VM to another host and adds sign to its number of moves.
func (d *Draft) relocate(v cluster.VMID, to cluster.HostID, sign int8) {
	from, one := d.Layout.Host(v), d.Units.Alone(v)
	d.Hosts[from].Burden = d.Hosts[from].Burden.Plus(d.Burden(one, from), -1)
	d.Hosts[to].Burden = d.Hosts[to].Burden.Plus(d.Burden(one, to), 1)
	d.moves[v] += sign
	d.Layout.Move(v, to)
	d.refresh(from)
	d.refresh(to)
}

// Undo removes the moves from an index on.
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

// Balancing starts the phase of moves for load balance: from now on they take time.
func (d *Draft) Balancing() {
	d.Clock.start(d.Plan.Moves)
	d.average()
}

// Moved reports whether a VM has a move.
func (d *Draft) Moved(v cluster.VMID) bool { return d.moves[v] > 0 }

// MayMove reports whether a VM may make an optional move.
func (d *Draft) MayMove(v cluster.VMID) bool {
	h := d.Layout.Host(v)
	return h != cluster.Nowhere && !d.Moved(v) && !d.Cluster.VMs[v].Pinned && d.Cluster.Hosts[h].Runs() &&
		(d.Options.Cooling == nil || !d.Options.Cooling(v))
}

// MayAllMove reports whether all VMs of a unit may make an optional move.
func (d *Draft) MayAllMove(vms []cluster.VMID) bool {
	return !slices.ContainsFunc(vms, func(v cluster.VMID) bool { return !d.MayMove(v) })
}

// Left reports whether a VM left a host recently.
func (d *Draft) Left(v cluster.VMID, h cluster.HostID) bool {
	return d.Options.Left != nil && d.Options.Left(v, h)
}

// Strains reports whether a step of its unit would use spare capacity. The result is cached,
// as it is expensive.
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

// Strain is why a step would use spare capacity, if Strains has found that it would; empty
// otherwise.
func (d *Draft) Strain(s place.Step) string { return d.strain[s] }
