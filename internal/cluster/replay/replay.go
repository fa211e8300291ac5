// Package replay simulates a cluster in virtual time: VMs have the demand of a scenario, hosts
// fail and return, and a policy moves VMs, which takes time, CPU and network. The result is
// the entitled demand that VMs did not receive.
//
// A run is deterministic: the same scenario and policy give the same outcome. Only the
// duration of decisions is measured with a clock.
package replay

import (
	"context"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
)

// Policy decides on moves. Each run has its own, since it may keep state.
type Policy interface {
	// Every is the interval between rounds, in seconds.
	Every() int64
	// Round returns the next moves. It may change its arguments.
	Round(v *View) []Step
}

// View is the input of a policy.
type View struct {
	Now int64 // second
	// Cluster is the observed state: the VMs' demand with its history, the states of hosts,
	// and the hosts of VMs. A moving VM counts on its destination.
	Cluster *cluster.Cluster
	Moving  []bool              // by VM: a move is in progress
	Down    []bool              // by VM: it should run but does not, because its host failed or it is new
	Latest  []cluster.Resources // by VM: its last demand; Cluster has the history
	Index   *cluster.Index      // of the cluster
	Layout  *cluster.Layout     // of the cluster
}

// Step is a move, or the start of a VM. Steps with the same number are made together or not at
// all.
type Step struct {
	VM     cluster.VMID
	To     cluster.HostID
	Number int
	Reason string
}

// Outcome is the result of a policy in a scenario.
type Outcome struct {
	// Short is entitled demand that VMs did not receive: MHz and MiB times milliseconds.
	Short     cluster.Resources
	Entitled  cluster.Resources // total entitled demand, in the same unit
	Satisfied int64             // milliseconds of VMs on hosts with sufficient capacity
	Moves     int
	Aborted   int   // moves that timed out or lost their target
	Refused   int   // steps that would have violated a hard constraint
	Copied    int64 // bytes of memory sent
	Flaps     int   // moves back to a host left less than an hour before, without a failure or maintenance
	Violated  int64 // total milliseconds of violated rules and overcommitted reservations
	Draining  int64 // milliseconds in which hosts in maintenance still had VMs
	Overload  int64 // milliseconds of hosts with more demand than capacity
	Late      int   // moves in the last third of the time
	Log       []Entry
	Decisions []time.Duration // duration of each round
}

// Entry is a log entry.
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

// Observer watches a run.
type Observer struct {
	Every time.Duration
	Until time.Duration // end of the run; 0: the end of the scenario
	// See receives the outcome so far, and reports whether to continue.
	See func(at time.Duration, so *Outcome) bool
}

// Watch runs a scenario under a policy, and calls the observer at intervals and at the end.
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
