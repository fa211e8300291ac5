// Package apply carries out a plan on a live cluster, with a journal for undo. Independent
// moves run concurrently, within limits per host. It stops at the first unexpected event, once
// the moves in progress have ended.
package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// Plan is the planned changes to a cluster.
type Plan struct {
	Seen    *cluster.Cluster // the cluster that they were planned for
	Changes []Change
	Undoes  string // the journal that these changes undo; empty otherwise
	// Violated counts, by name, the hard constraints that may be violated in between, as they
	// were when the plan was made; nil for those violated in Seen.
	Violated map[string]int
}

// Change is one change: of a VM's host, or of a host's maintenance. A VM that is off has no host.
type Change struct {
	Number int         `json:"change"`         // from 1
	Action live.Action `json:"action"`         // live.Move, live.Power, live.Reshape or live.Maintain
	Step   int         `json:"step,omitempty"` // moves of one step belong together
	VM     string      `json:"vm,omitempty"`
	From   string      `json:"from,omitempty"` // host, or setting of the topology
	To     string      `json:"to,omitempty"`
	Host   string      `json:"host,omitempty"`
	Enter  bool        `json:"enter,omitempty"` // false: exit maintenance
}

// places reports whether a change concerns the host of a VM.
func (c *Change) places() bool { return c.Action == live.Move || c.Action == live.Power }

// String is the change as text.
func (c Change) String() string {
	switch {
	case c.Action == live.Power && c.To != "":
		return fmt.Sprintf("start %s on %s", c.VM, c.To)
	case c.Action == live.Power:
		return fmt.Sprintf("shut down %s, which runs on %s", c.VM, c.From)
	case c.Action == live.Move:
		return fmt.Sprintf("move %s from %s to %s", c.VM, c.From, c.To)
	case c.Action == live.Reshape:
		return fmt.Sprintf("change %s from %q to %q", c.VM, c.From, c.To)
	case c.Enter:
		return fmt.Sprintf("put %s into maintenance", c.Host)
	}
	return fmt.Sprintf("take %s out of maintenance", c.Host)
}

// Progress reports the start or the end of a change.
type Progress struct {
	Change Change
	Of     int
	Ended  *Outcome      // nil at the start
	Left   time.Duration // estimate for all unfinished changes; 0 if unknown
}

// Applier makes changes to a live cluster.
type Applier struct {
	Connection live.Connection
	// Journal is the path of the journal, a new file.
	Journal string
	Address string // of the cluster, for the journal
	// Parallel is the maximum number of concurrent moves per host, within the limits of the
	// platform; 0 is one.
	Parallel int
	// Patience is the time limit for a lost control plane to return, and for a complete
	// inventory; 0 is two minutes.
	Patience time.Duration
	Progress func(Progress) // may be nil
}

const defaultPatience = 2 * time.Minute

// Refused is returned for a plan that is refused before the first change.
type Refused struct{ Why string }

// Error is the reason.
func (r *Refused) Error() string { return r.Why + "; nothing was changed" }

// Apply makes the changes of a plan: each after those that it depends on, otherwise in the
// plan's order. An unexpected event stops it and is part of the result; an error is a refused
// plan, or a failure of the journal. The end of the context cancels the moves in progress, or
// waits for them if the platform cannot cancel them.
func (a Applier) Apply(ctx context.Context, p Plan) (*Result, error) {
	if a.Patience <= 0 {
		a.Patience = defaultPatience
	}
	if p.Violated == nil {
		p.Violated = violated(p.Seen, nil)
	}
	if err := a.allowed(ctx, p); err != nil {
		return nil, err
	}
	log, err := create(a.Journal, begin{Cluster: p.Seen.Name, Address: a.Address, Identity: a.Connection.Identity, Changes: p.Changes, Violated: p.Violated, Undoes: p.Undoes})
	if err != nil {
		return nil, err
	}
	defer log.close()
	r := newRun(a, p, log)
	r.eye = follow(ctx, a.Connection.Source)
	defer func() { r.eye.close() }()
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	if err := log.end(r.stopped); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// allowed refuses impossible plans before any change.
func (a Applier) allowed(ctx context.Context, p Plan) error {
	needed := map[live.Action]bool{}
	hosts := map[string]cluster.HostState{}
	for i := range p.Seen.Hosts {
		hosts[p.Seen.Hosts[i].Name] = p.Seen.Hosts[i].State
	}
	for _, c := range p.Changes {
		needed[c.Action] = true
		if from := hosts[c.From]; c.Action == live.Move && (c.From == "" || from == cluster.Failed || from == cluster.Standby) {
			return &Refused{fmt.Sprintf("%s runs nowhere or on a host that has failed: only the platform's high availability can start it; wait for that, then plan again", c.VM)}
		}
	}
	if needed[live.Reshape] && a.Connection.Shaper == nil {
		return &Refused{"this platform cannot change virtual topologies"}
	}
	for _, action := range []live.Action{live.Move, live.Power, live.Reshape, live.Maintain} {
		if !needed[action] {
			continue
		}
		missing, err := a.Connection.Hand.Missing(ctx, action)
		if err != nil {
			return fmt.Errorf("check the privileges to %s: %w", action, err)
		}
		if len(missing) > 0 {
			return &Refused{fmt.Sprintf("the account lacks privileges to %s: %s", action, first(missing))}
		}
	}
	return nil
}

// first is the beginning of a list that may have an entry for each VM of a cluster.
func first(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// errSeen ends a watch after its first step.
var errSeen = errors.New("seen")

// look is the present cluster.
func look(ctx context.Context, source live.Source) (*cluster.Cluster, error) {
	var seen *cluster.Cluster
	err := source.Watch(ctx, func(s live.Step) error {
		seen = s.Cluster
		return errSeen
	})
	if seen == nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	return seen, nil
}
