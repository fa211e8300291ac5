// Package balance decides which VMs move between hosts, and why the others stay.
//
// What must be comes first: hosts in maintenance are emptied, VMs of failed hosts
// start again, rules that must hold are mended and reservations fit. Then come rules
// that only should hold, and at last the load. A move for the load must help more
// VMs than it costs; what it gains is not an even spread but work that would
// otherwise be slowed down.
package balance

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// Round makes a plan for a layout, which it does not change.
func Round(l *cluster.Layout, x *cluster.Index, o advice.Options) advice.Plan {
	r := newRound(l.Clone(), x, o)
	r.plan.Before = r.balance()
	r.mandatory()
	r.shouldRules()
	r.even()
	r.plan.After = r.balance()
	return r.plan
}

// round is a plan in the making.
type round struct {
	c       *cluster.Cluster
	x       *cluster.Index
	units   *units
	l       *cluster.Layout // as it will be after the moves so far
	place   *place.Placer
	options advice.Options
	plan    advice.Plan
	moved   []bool // by VM
	steps   int    // so far
	looked  int    // layouts in which places were exchanged

	byScore bool
	model   *contention.Model
	core    int64                 // MHz by which sizes are counted
	burden  []contention.Burden   // by host
	remote  []int64               // by VM: what it loses on memory of other nodes wherever it runs, in millionths
	busy    []int64               // by host: seconds of migrations
	barred  map[place.Step]string // why steps would use up what is kept to spare

	// Of the moves for the load.
	relief   *relief
	swaps    swaps
	mean     contention.Pair  // load of the hosts that can be used
	outlooks []outlook        // by host
	rows     []*row           // by host; nil of those with nothing to offer
	heads    bracket          // of the rows
	riser    riser            // the last that was found
	ways     []cluster.HostID // targets that stand for all, in what a migration costs
	fares    []int64          // by VM: one more than a move must save at least, in MHz; 0 where that is not known yet
	kinds    kinds            // of targets, by capacity
	unsorted []offer          // room for the offers of a host
	ranks    []rank           // and for their order
}

// newRound works in the layout that it is given.
func newRound(l *cluster.Layout, x *cluster.Index, o advice.Options) *round {
	c := l.Cluster()
	r := &round{
		c: c, x: x, l: l, units: newUnits(c), model: contention.NewModel(c, x), place: place.Again(l, x), options: o, barred: map[place.Step]string{}, moved: make([]bool, len(c.VMs)), fares: make([]int64, len(c.VMs)),
		byScore: c.Settings.Model == cluster.ByScore, core: cluster.CoreSpeed(c), burden: burdens(l, x), ways: ways(c),
	}
	r.remote = r.nearest()
	r.kinds = newKinds(c, x, r.model)
	r.relief = &relief{round: r, each: make([]int64, len(c.Hosts)), closed: make([]bool, len(c.Hosts)), saved: make([]int64, len(c.Hosts))}
	r.swaps = swaps{round: r, spent: make([]bool, len(c.Hosts))}
	r.survey()
	r.relief.measure()
	return r
}

// balance is that of the layout as it is now.
func (r *round) balance() advice.Balance {
	b := evenness(r.l, r.x)
	b.Score = r.score()
	return b
}

// move takes a step into the plan.
func (r *round) move(s place.Step, why advice.Reason, rule cluster.RuleID, v advice.Value) {
	r.steps++
	r.enter(s, why, rule, v)
}

// enter takes a move into the step under way.
func (r *round) enter(s place.Step, why advice.Reason, rule cluster.RuleID, v advice.Value) {
	m := advice.For(why)
	m.Step, m.Number, m.Rule, m.Value, m.Relieves, m.ToBefore = s, r.steps, rule, v, s.From, worse(r.l, r.x, s.To)
	if s.From != cluster.Nowhere {
		m.FromBefore = worse(r.l, r.x, s.From)
	}
	r.l.Move(s.VM, s.To)
	cpu := r.x.Demand(s.VM).CPU
	r.burden[s.To] = r.burden[s.To].Plus(contention.Bears(r.c, s.VM, s.To, cpu), 1)
	m.ToAfter = worse(r.l, r.x, s.To)
	if s.From != cluster.Nowhere {
		r.burden[s.From] = r.burden[s.From].Plus(contention.Bears(r.c, s.VM, s.From, cpu), -1)
		m.FromAfter = worse(r.l, r.x, s.From)
	}
	r.outlook(s.To)
	if s.From != cluster.Nowhere {
		r.outlook(s.From)
	}
	r.moved[s.VM] = true
	r.plan.Moves = append(r.plan.Moves, m)
}
