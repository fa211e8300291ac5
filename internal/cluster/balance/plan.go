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
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// Reason is why a VM moves, by the names that the vSphere API has for reasons
// of recommendations.
type Reason string

// The reasons of moves, in the order in which they are looked for.
const (
	HostFailed      Reason = "hostFailed"
	HostMaintenance Reason = "hostMaint"
	MustRule        Reason = "vmHostHardAffinity"
	Reservation     Reason = "reservation"
	MakeRoom        Reason = "makeRoom"
	ShouldRule      Reason = "vmHostSoftAffinity"
	FairCPU         Reason = "fairnessCpuAvg"
	FairMemory      Reason = "fairnessMemAvg"
)

// Mandatory says whether a move is made whatever it costs.
func (r Reason) Mandatory() bool {
	switch r {
	case HostFailed, HostMaintenance, MustRule, Reservation, MakeRoom:
		return true
	}
	return false
}

// Plan is what to do, in an order of which no beginning of whole steps breaks anything
// that must hold and held before.
type Plan struct {
	Moves         []Move
	Stranded      []Stranded // VMs that must leave a host and find no other
	Refused       []Refused  // the best moves that were not made
	Quiet         string     // why nothing more is moved for the load
	Before, After Balance
}

// Move is one VM that goes to another host.
type Move struct {
	place.Step
	Number int // of the step: VMs that must stay together move at the same time, as one
	Reason Reason
	Rule   cluster.RuleID // that it mends; Nowhere without one
	Value  Value          // of a move for the load
	// Relieves is the host that a move for the load relieves: another than it leaves where
	// VMs change places.
	Relieves cluster.HostID
	Partner  cluster.VMID // with which the VM changes places for the load; Nowhere without one
	// Loads of both hosts before and after, in millionths of the capacity, of the
	// resource that is fuller.
	FromBefore, FromAfter, ToBefore, ToAfter int64
	// Note is why it is this move where the reason alone does not say: that others move with
	// it, or that it waits on a host for its place.
	Note string
}

// Stranded is a VM that should not stay where it is, and cannot leave.
type Stranded struct {
	VM     cluster.VMID
	Reason Reason
}

// Refused is a move that would even out the load, and why it is not made.
type Refused struct {
	place.Step
	Value Value
	Why   string
}

// Balance is how evenly a layout is loaded.
type Balance struct {
	Deviation Pair  // standard deviation of the hosts' loads, in millionths
	Spread    Pair  // highest load less the lowest
	Lost      int64 // MHz of demand that is slowed down or not served, by Loss
	// Score is the mean of the VMs' scores, by demand, in millionths: a million where
	// each gets all that it asks for undisturbed. It is given for both models.
	Score int64
}

// Pair is a number for each resource.
type Pair = contention.Pair

// Options are what a round knows besides the cluster.
type Options struct {
	// Cooling says that a VM was moved not long ago, and stays; nil for none.
	Cooling func(cluster.VMID) bool
	// Left says that a VM left the host not long ago, and does not return; nil for
	// none.
	Left func(cluster.VMID, cluster.HostID) bool
	// Interval is the time to the next round, in seconds, in which the migrations of this
	// one should end; 0 is 300.
	Interval int64
}

// Round makes a plan for a layout, which it does not change.
func Round(l *cluster.Layout, x *cluster.Index, o Options) Plan {
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
	options Options
	plan    Plan
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
	mean     Pair             // load of the hosts that can be used
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
func newRound(l *cluster.Layout, x *cluster.Index, o Options) *round {
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
func (r *round) balance() Balance {
	b := evenness(r.l, r.x)
	b.Score = r.score()
	return b
}

// move takes a step into the plan.
func (r *round) move(s place.Step, why Reason, rule cluster.RuleID, v Value) {
	r.steps++
	r.enter(s, why, rule, v)
}

// enter takes a move into the step under way.
func (r *round) enter(s place.Step, why Reason, rule cluster.RuleID, v Value) {
	m := Move{Step: s, Number: r.steps, Reason: why, Rule: rule, Value: v, Relieves: s.From, Partner: cluster.Nowhere, ToBefore: worse(r.l, r.x, s.To)}
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
