package apply

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/live"
)

// run is the execution of a plan. One goroutine decides and writes the journal; each change in
// progress has one that waits for the platform.
type run struct {
	a        Applier
	plan     Plan
	log      *log
	eye      *follower
	expected map[string]string // expected host of each VM, after the moves so far
	order    order
	outcomes []*Outcome // by index in the plan; nil if not begun or not ended
	flying   map[int]bool
	ended    chan ended
	stopped  string // the unexpected event
	clock    clock
}

// ended is a change whose call has returned.
type ended struct {
	at   int
	o    Outcome
	seen bool // confirmed, and visible in the watch
}

func newRun(a Applier, p Plan, l *log) *run {
	order := newOrder(a, p)
	return &run{
		a: a, plan: p, log: l, expected: positions(p.Seen), order: order, outcomes: make([]*Outcome, len(p.Changes)),
		flying: map[int]bool{}, ended: make(chan ended, len(p.Changes)), clock: newClock(p, order.most),
	}
}

// all makes the changes until an unexpected event, and waits for those in progress.
func (r *run) all(ctx context.Context) error {
	for {
		err := r.beginAll(ctx)
		if err == nil && len(r.flying) > 0 {
			err = r.end(ctx, <-r.ended)
		} else if err == nil {
			return nil
		}
		if err != nil { // of the journal: changes in progress cannot be recorded any more
			for len(r.flying) > 0 {
				delete(r.flying, (<-r.ended).at)
			}
			return err
		}
	}
}

// beginAll begins the changes that can begin now.
func (r *run) beginAll(ctx context.Context) error {
	for r.stopped == "" {
		i := r.order.next()
		if i < 0 {
			return nil
		}
		if r.stopped = r.ready(ctx, i); r.stopped != "" {
			return nil
		}
		if err := r.log.intent(r.plan.Changes[i]); err != nil {
			return err
		}
		r.tell(Progress{Change: r.plan.Changes[i], Left: r.clock.left()})
		r.order.begin(i)
		r.flying[i] = true
		go r.make(ctx, i, r.eye)
	}
	return nil
}

// make makes a change, and waits until the watch reports it.
func (r *run) make(ctx context.Context, i int, e *follower) {
	c := r.plan.Changes[i]
	o := Outcome{Change: c}
	begin := time.Now()
	var err error
	switch c.Action {
	case live.Move:
		err = r.a.Connection.Hand.Move(ctx, c.VM, c.To)
	case live.Power:
		err = r.a.Connection.Hand.Power(ctx, c.VM, c.To)
	case live.Maintain:
		err = r.a.Connection.Hand.Maintain(ctx, c.Host, c.Enter)
	case live.Reshape:
		err = r.a.reshape(ctx, c)
	}
	o.Seconds = time.Since(begin).Seconds()
	if err != nil {
		if o.Error = err.Error(); !strings.Contains(o.Error, c.VM+c.Host) {
			o.Error = fmt.Sprintf("%s: %s", c, o.Error)
		}
	}
	r.ended <- ended{i, o, err == nil && c.places() && r.seen(ctx, &o, e)}
}

// notice is the time limit for a watch to report a confirmed change, before the cluster is
// read again.
const notice = 10 * time.Second

// seen waits until the watch reports a change.
func (r *run) seen(ctx context.Context, o *Outcome, e *follower) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(notice, r.a.Patience))
	defer cancel()
	return e.until(ctx, o.find) == nil
}

// end records the outcome of a change.
func (r *run) end(ctx context.Context, e ended) error {
	o := &e.o
	if e.seen {
		o.judge()
	} else {
		o.settle(ctx, r.a)
	}
	if !e.seen && o.Action != live.Reshape {
		r.eye.close() // it may have missed a change; not every platform reports host changes at once
		r.eye = follow(ctx, r.a.Connection.Source)
	}
	if o.places() && o.What == Made {
		r.expected[o.VM] = o.To
	}
	delete(r.flying, e.at)
	r.outcomes[e.at] = o
	r.order.end(e.at)
	if err := r.log.outcome(*o); err != nil {
		return err
	}
	r.clock.took(e.at, o.Seconds)
	r.tell(Progress{Change: o.Change, Ended: o, Left: r.clock.left()})
	if r.stopped == "" {
		r.stopped = r.surprise(ctx, o)
	}
	return nil
}

// surprise is why the outcome of a change is unexpected; empty if it is not.
func (r *run) surprise(ctx context.Context, o *Outcome) string {
	switch {
	case ctx.Err() != nil && (o.What != Made || r.order.unmade()):
		return "interrupted"
	case o.Error != "":
		return o.Error
	case o.What != Made:
		return fmt.Sprintf("the control plane confirmed that it would %s, but %s", o.Change, o.where())
	}
	return ""
}

func (r *run) tell(p Progress) {
	if p.Of = len(r.plan.Changes); r.a.Progress != nil {
		r.a.Progress(p)
	}
}
