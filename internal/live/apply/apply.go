// Package apply carries out a plan on a live cluster, one change after the other, with a journal
// by which it can be undone. It stops at the first surprise.
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

// Plan is the changes to be made to a cluster.
type Plan struct {
	Seen    *cluster.Cluster // for which they were planned
	Changes []Change
	Undoes  string // the journal whose changes these undo; empty otherwise
	// Violated counts the hard constraints, by name, that may be violated on the way, as they
	// were when the plan was made; nil for those violated in Seen.
	Violated map[string]int
}

// Change is one change: of a VM's host, or of a host's maintenance.
type Change struct {
	Number int         `json:"change"`         // from 1
	Action live.Action `json:"action"`         // live.Move or live.Maintain
	Step   int         `json:"step,omitempty"` // moves of one step belong together
	VM     string      `json:"vm,omitempty"`
	From   string      `json:"from,omitempty"`
	To     string      `json:"to,omitempty"`
	Host   string      `json:"host,omitempty"`
	Enter  bool        `json:"enter,omitempty"` // or exit maintenance
}

// String is the change for people.
func (c Change) String() string {
	switch {
	case c.Action == live.Move:
		return fmt.Sprintf("move %s from %s to %s", c.VM, c.From, c.To)
	case c.Enter:
		return fmt.Sprintf("put %s into maintenance", c.Host)
	}
	return fmt.Sprintf("take %s out of maintenance", c.Host)
}

// Progress says that a change begins, or has ended.
type Progress struct {
	Change Change
	Of     int
	Ended  *Outcome      // nil at the beginning
	Left   time.Duration // estimate for all changes that are not made; 0 is unknown
}

// Applier makes changes to a live cluster.
type Applier struct {
	Connection live.Connection
	// Journal is where the journal is written: a new file.
	Journal string
	Address string // of the cluster, for the journal
	// Patience bounds the waiting for a lost control plane to return, and for a whole inventory;
	// 0 is two minutes.
	Patience time.Duration
	Progress func(Progress) // nil for none
}

const defaultPatience = 2 * time.Minute

// Refused is a plan that was refused before the first change.
type Refused struct{ Why string }

// Error says why.
func (r *Refused) Error() string { return r.Why + "; nothing was changed" }

// Apply makes the changes of a plan in their order. A surprise ends it and is in the result; an
// error is a plan that was refused, or trouble with the journal. The end of the context cancels
// a running move, or waits for it where the platform cannot cancel it.
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
	r := run{a: a, plan: p, log: log, eye: follow(ctx, a.Connection.Source), expected: positions(p.Seen), clock: newClock(p)}
	defer func() { r.eye.close() }()
	stopped, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	if err := log.end(stopped); err != nil {
		return nil, err
	}
	return r.result(stopped), nil
}

// allowed refuses what cannot be carried out, before anything is changed.
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
	for _, action := range []live.Action{live.Move, live.Maintain} {
		if !needed[action] {
			continue
		}
		missing, err := a.Connection.Hand.Missing(ctx, action)
		if err != nil {
			return fmt.Errorf("check the privileges to %s: %w", action, err)
		}
		if len(missing) > 0 {
			return &Refused{fmt.Sprintf("the account lacks privileges to %s: %s", action, strings.Join(missing, ", "))}
		}
	}
	return nil
}

// run is a plan that is carried out.
type run struct {
	a        Applier
	plan     Plan
	log      *log
	eye      *eye
	expected map[string]string // the host of each VM, by the plan and the moves so far
	outcomes []Outcome         // of the changes that were begun
	clock    clock
}

// all makes the changes until one is a surprise, which it returns.
func (r *run) all(ctx context.Context) (stopped string, err error) {
	for i, c := range r.plan.Changes {
		if stopped = r.ready(ctx, i); stopped != "" {
			return stopped, nil
		}
		if err := r.log.intent(c); err != nil {
			return "", err
		}
		r.tell(Progress{Change: c, Left: r.clock.left(i)})
		o := r.make(ctx, c)
		r.outcomes = append(r.outcomes, o)
		if err := r.log.outcome(o); err != nil {
			return "", err
		}
		r.clock.took(i, o.Seconds)
		r.tell(Progress{Change: c, Ended: &o, Left: r.clock.left(i + 1)})
		switch {
		case ctx.Err() != nil && (o.What != Made || i+1 < len(r.plan.Changes)):
			return "interrupted", nil
		case o.Error != "":
			return o.Error, nil
		case o.What != Made:
			return fmt.Sprintf("the control plane confirmed that it would %s, but %s", c, o.where()), nil
		}
	}
	return "", nil
}

func (r *run) tell(p Progress) {
	if p.Of = len(r.plan.Changes); r.a.Progress != nil {
		r.a.Progress(p)
	}
}

// make makes a change, and reads back what came of it.
func (r *run) make(ctx context.Context, c Change) Outcome {
	o := Outcome{Change: c}
	begin := time.Now()
	var err error
	if c.Action == live.Move {
		err = r.a.Connection.Hand.Move(ctx, c.VM, c.To)
	} else {
		err = r.a.Connection.Hand.Maintain(ctx, c.Host, c.Enter)
	}
	o.Seconds = time.Since(begin).Seconds()
	if err != nil {
		if o.Error = err.Error(); !strings.Contains(o.Error, c.VM+c.Host) {
			o.Error = fmt.Sprintf("%s: %s", c, o.Error)
		}
	}
	if err == nil && c.Action == live.Move && r.seen(ctx, &o) {
		o.judge()
	} else {
		o.settle(ctx, r.a)
		r.eye.close() // it may have missed a change; not every platform reports those of hosts at once
		r.eye = follow(ctx, r.a.Connection.Source)
	}
	if c.Action == live.Move && o.What == Made {
		r.expected[c.VM] = c.To
	}
	return o
}

// notice is how long a confirmed change may take to appear in a watch, before the cluster is read
// anew.
const notice = 10 * time.Second

// seen waits until a change appears in the watch.
func (r *run) seen(ctx context.Context, o *Outcome) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(notice, r.a.Patience))
	defer cancel()
	return r.eye.until(ctx, o.find) == nil
}

// errSeen ends a watch after its first step.
var errSeen = errors.New("seen")

// look is the cluster as it is now.
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
