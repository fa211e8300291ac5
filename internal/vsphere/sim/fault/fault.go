package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/task"
)

// Actions are the effects of timed rules.
type Actions struct {
	Expire func()        // all sessions
	Down   func(is bool) // the vCenter
	Clock  *clock.Clock
	Host   func(ctx context.Context, name string, fails bool) error
}

// Set is the faults of a simulator. They can be changed while it serves.
type Set struct {
	seed uint64

	m       sync.Mutex
	rules   []*counted
	actions *Actions // nil until it is started
	ctx     context.Context
	stop    context.CancelFunc
	timed   sync.WaitGroup
}

// counted is a rule with its statistics.
type counted struct {
	rule   *rule
	looked uint64 // operations or calls checked
	made   uint64
	err    error
	stop   context.CancelFunc // of an event
}

// New parses rules and makes their faults.
func New(seed uint64, rules []string) (*Set, error) {
	s := &Set{seed: seed}
	s.ctx, s.stop = context.WithCancel(context.Background())
	list, err := read(rules)
	s.rules = list
	return s, err
}

func read(rules []string) (list []*counted, err error) {
	for _, text := range rules {
		r, err := parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, &counted{rule: r})
	}
	return list, nil
}

// Start starts the times of events.
func (s *Set) Start(a Actions) {
	s.m.Lock()
	defer s.m.Unlock()
	s.actions = &a
	s.begin(s.rules)
}

// Close cancels all events.
func (s *Set) Close() {
	s.stop()
	s.timed.Wait()
}

// Add adds rules, or replaces all.
func (s *Set) Add(rules []string, replace bool) error {
	list, err := read(rules)
	if err != nil {
		return err
	}
	s.m.Lock()
	defer s.m.Unlock()
	if replace {
		for _, r := range s.rules {
			if r.stop != nil {
				r.stop()
			}
		}
		s.rules = nil
	}
	s.rules = append(s.rules, list...)
	if s.actions != nil {
		s.begin(list)
	}
	return nil
}

// begin starts the times of rules. The lock is held.
func (s *Set) begin(list []*counted) {
	for _, r := range list {
		if r.rule.at != "" && s.ctx.Err() == nil {
			var own context.Context
			own, r.stop = context.WithCancel(s.ctx)
			s.timed.Go(func() { s.run(own, r, *s.actions) })
		}
	}
}

// run waits for the times of an event.
func (s *Set) run(ctx context.Context, r *counted, a Actions) {
	wait := r.rule.after
	for pause(ctx, a.Clock, wait) {
		err := r.happen(ctx, a)
		s.m.Lock()
		r.looked, r.err = r.looked+1, err
		if err == nil {
			r.made++
		}
		s.m.Unlock()
		if r.rule.every == 0 {
			return
		}
		wait = r.rule.every - r.rule.last
	}
}

// pause waits; it is not ok if the context ends first.
func pause(ctx context.Context, by *clock.Clock, d time.Duration) bool {
	over, stop := by.After(d)
	defer stop()
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}

// happen triggers an event, and waits for its end.
func (r *counted) happen(ctx context.Context, a Actions) error {
	switch r.rule.at {
	case "session":
		a.Expire()
	case "vcenter":
		a.Down(true)
		pause(ctx, a.Clock, r.rule.last)
		a.Down(false)
	default:
		if err := a.Host(ctx, r.rule.target, true); err != nil || r.rule.last == 0 {
			return err
		}
		pause(ctx, a.Clock, r.rule.last)
		return a.Host(context.WithoutCancel(ctx), r.rule.target, false)
	}
	return nil
}

// first is the first rule with a fault for an operation or a call.
func (s *Set) first(is func(*rule) bool) *rule {
	s.m.Lock()
	defer s.m.Unlock()
	for _, r := range s.rules {
		if r.rule.at != "" || !is(r.rule) {
			continue
		}
		r.looked++
		if r.rule.hits(s.seed, r.looked) {
			r.made++
			return r.rule
		}
	}
	return nil
}

// Operation is the fault of an operation.
func (s *Set) Operation(name string) task.Trouble {
	r := s.first(func(r *rule) bool { return r.target == name })
	switch {
	case r == nil:
		return task.Trouble{}
	case r.fault != nil:
		return task.Trouble{Fault: r.make()}
	}
	return task.Trouble{Endless: r.disturbed.Kind == disturbance.Hang, Longer: r.disturbed.Delay}
}

// Check is the fault of a call.
func (s *Set) Check(_ *simulator.Context, call *simulator.Method) types.BaseMethodFault {
	r := s.first(func(r *rule) bool { return r.fault != nil && !r.operation() && r.about(call.Name) })
	if r == nil {
		return nil
	}
	return r.make()
}

// Call is the disturbance of a call.
func (s *Set) Call(method string) disturbance.Disturbance {
	r := s.first(func(r *rule) bool { return r.fault == nil && !r.operation() && r.about(method) })
	if r == nil {
		return disturbance.Disturbance{}
	}
	return r.disturbed
}

// Disturbs reports whether there are rules that disturb calls.
func (s *Set) Disturbs() bool {
	s.m.Lock()
	defer s.m.Unlock()
	return slices.ContainsFunc(s.rules, func(r *counted) bool { return r.rule.at == "" && r.rule.fault == nil && !r.rule.operation() })
}

// Hosts are the names of the hosts in rules about failures.
func (s *Set) Hosts() (names []string) {
	s.m.Lock()
	defer s.m.Unlock()
	for _, r := range s.rules {
		if r.rule.at == "host" {
			names = append(names, r.rule.target)
		}
	}
	return names
}

// about reports whether a rule applies to a method. Rules for all methods exclude login and
// logout.
func (r *rule) about(method string) bool {
	if r.target == "*" {
		return method != "Login" && method != "Logout" && method != "RetrieveServiceContent"
	}
	return r.target == method
}

// String lists the rules with their statistics, one per line.
func (s *Set) String() string {
	s.m.Lock()
	defer s.m.Unlock()
	var b strings.Builder
	for _, r := range s.rules {
		switch {
		case r.err != nil:
			fmt.Fprintf(&b, "%s  failed: %v\n", r.rule.text, r.err)
		case r.rule.at != "":
			fmt.Fprintf(&b, "%s  %d times\n", r.rule.text, r.made)
		default:
			fmt.Fprintf(&b, "%s  %d of %d\n", r.rule.text, r.made, r.looked)
		}
	}
	return b.String()
}
