// Package replay runs a cluster in virtual time: VMs ask for what a scenario says,
// hosts fail and come back, and a policy moves VMs, which takes time, CPU and
// network. What counts is what VMs were entitled to and did not get.
//
// Everything follows from the scenario and the policy: the same ones give the same
// outcome. Only how long decisions took is measured with a clock.
package replay

import (
	"context"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
)

// Policy decides about moves. One is made for each run, since it may remember.
type Policy interface {
	// Every is how long it waits from one round to the next, in seconds.
	Every() int64
	// Round returns the next moves. It may change its arguments.
	Round(v *View) []Step
}

// View is the input of a policy.
type View struct {
	Now int64 // second
	// Cluster is as it was observed: the VMs' demand with its course, the states of
	// hosts, and where VMs run. One that moves counts for where it goes.
	Cluster *cluster.Cluster
	Moving  []bool              // by VM: it is on its way
	Down    []bool              // by VM: it should run and does not, for its host failed or it is new
	Latest  []cluster.Resources // by VM: its last demand; Cluster has the history
	Index   *cluster.Index      // of the cluster
	Layout  *cluster.Layout     // of the cluster
}

// Step is one move, or a start of a VM. Steps of one number happen together or not at all.
type Step struct {
	VM     cluster.VMID
	To     cluster.HostID
	Number int
	Reason string
}

// Outcome is the outcome of a policy in a scenario.
type Outcome struct {
	// Short is entitled demand that VMs did not get: MHz and MiB times milliseconds.
	Short     cluster.Resources
	Entitled  cluster.Resources // all that they were entitled to, likewise
	Satisfied int64             // milliseconds of VMs on hosts that had enough for all of theirs
	Due       int64             // milliseconds of VMs that should run
	Moves     int
	Aborted   int   // moves that never ended or lost their target
	Refused   int   // steps that would have broken something that must hold
	Copied    int64 // bytes of memory sent
	Flaps     int   // moves back to a host left less than an hour before, without a failure or maintenance
	Violated  int64 // milliseconds of broken rules and overcommitted reservations, summed up over them
	Draining  int64 // milliseconds that hosts in maintenance still had VMs
	Overload  int64 // milliseconds of hosts with more demand than capacity
	Late      int   // moves in the last third of the time
	Log       []Entry
	Decisions []time.Duration // how long each round took, by the clock
}

// Entry is one thing that happened.
type Entry struct {
	At     int64 // millisecond
	VM     cluster.VMID
	From   cluster.HostID // Nowhere of a start
	To     cluster.HostID
	Reason string
	Took   int64 // milliseconds
}

// Run runs a scenario under a policy.
func Run(ctx context.Context, s *scenario.Scenario, p Policy) (*Outcome, error) {
	return Watch(ctx, s, p, Observer{})
}

// Observer looks at a run under way.
type Observer struct {
	Every time.Duration
	Until time.Duration // the end of the run; 0 is the end of the scenario
	// See gets the outcome so far, and reports whether to go on.
	See func(at time.Duration, so *Outcome) bool
}

// Watch runs a scenario under a policy, and has it looked at from time to time and at the
// end.
func Watch(ctx context.Context, s *scenario.Scenario, p Policy, o Observer) (*Outcome, error) {
	w := newWorld(s, p)
	if o.Until > 0 {
		w.end = min(w.end, o.Until.Milliseconds())
	}
	every := max(1, o.Every.Milliseconds())
	w.look, w.alarm = w.end, w.end
	if o.See != nil {
		w.look = every
	}
	for w.now < w.end {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.sample()
		w.happen()
		w.arrive()
		w.decide()
		w.start()
		w.spend(w.next())
		if w.now < w.look && w.now < w.end {
			continue
		}
		w.look += every
		if o.See != nil && !o.See(time.Duration(w.now)*time.Millisecond, &w.out) {
			break
		}
	}
	return &w.out, nil
}
