// Package compliance is a workload of compliance checks: it asks a platform whether VMs and their disks
// comply with their storage policies, so many VMs in a call, and gives VMs their policies again between
// the checks.
package compliance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/compliance/subject"
)

// Parameters are what a study may set.
type Parameters struct {
	Kind    string `name:"check" doc:"check: homes and disks; rollup: VMs with their disks; fetch: the results of the last checks" choices:"check,rollup,fetch"`
	VMs     int    `name:"vms" doc:"VMs in a call, of those with a policy" min:"1" max:"1000"`
	Changes int    `name:"changes" doc:"VMs that are given the policy of their home again before each check" min:"0" max:"100"`
	Slots   int    `name:"threads" doc:"maximum calls in flight" min:"1" max:"256"`

	workload.Pace `threads:"-" rate:"offered load in calls per second; empty is a closed loop" timeout:"time limit of a call" shape:"-" trace:"-"`
}

// The classes of calls.
const (
	check = iota
	apply
)

var classes = [...]string{check: "check", apply: "apply"}

func defaults() Parameters {
	return Parameters{Kind: string(subject.Check), VMs: 100, Slots: 1, Pace: workload.ControlPace(2 * time.Minute)}
}

// Kind is the workload as the catalog lists it. The client of the platform is handed in: that of
// an agent would be too large.
func Kind(open subject.Opener) workload.Kind {
	return workload.Define(workload.Kind{
		Name:    "compliance",
		Doc:     "compliance checks of VMs and disks against their storage policies",
		Rate:    "calls",
		Needs:   "a vCenter with storage policies, or the built-in simulator of one",
		Metrics: slices.Concat(measure.OperationMetrics("calls", classes[:]...), measure.ScheduleMetrics(classes[:]...), measure.ClientMetrics("call")),
		Speaks:  []string{protocol},
		Own:     true,
		Lab:     true,
	}, defaults(), func(p Parameters) (workload.Load, error) {
		offer, err := p.Offered()
		return &compliance{Parameters: p, open: open, offer: offer}, err
	})
}

const protocol = "vsphere"

type compliance struct {
	Parameters
	open  subject.Opener
	offer workload.Offer
}

// Demand is that of the threads, or as many as the rate offers.
func (l *compliance) Demand() load.Demand {
	each := 1 / float64(1+l.Changes)
	list := []load.Class{{Name: classes[check], Share: each}, {Name: classes[apply], Share: 1 - each}}
	return l.offer.Demand(l.Slots, list[:l.kinds()]...)
}

// kinds is the number of classes of calls.
func (l *compliance) kinds() int { return 1 + min(l.Changes, 1) }

// connect opens the platform of the study.
func (l *compliance) connect(ctx context.Context, env workload.Env) (subject.Subject, error) {
	if env.Target == nil {
		return nil, errors.New("the workload compliance requires a vCenter: add the service vcenter to the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, err
	}
	return l.open(ctx, at)
}

// Check connects to the platform if it runs already.
func (l *compliance) Check(ctx context.Context, env workload.Env) (needs workload.Needs, err error) {
	if env.Target == nil {
		return needs, nil // it will be started
	}
	s, err := l.connect(ctx, env)
	if err != nil {
		return needs, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	vms, err := l.survey(ctx, s)
	if err != nil {
		return needs, err
	}
	if l.Changes > 0 {
		needs.Changes = []string{"gives VMs of the vCenter the storage policies of their homes again"}
	}
	return needs, l.authorize(ctx, s, vms)
}

// authorize refuses an account that lacks privileges.
func (l *compliance) authorize(ctx context.Context, s subject.Subject, vms []subject.VM) error {
	asked, can := s.(subject.Privileged)
	if !can {
		return nil
	}
	missing, err := asked.Missing(ctx, vms, l.Changes > 0)
	if err != nil {
		return fmt.Errorf("check the privileges of the account: %w", err)
	}
	if len(missing) > 0 {
		return &workload.Refused{Err: fmt.Errorf("the account lacks privileges: grant it %s", strings.Join(missing, "; "))}
	}
	return nil
}

// survey lists the VMs of the load.
func (l *compliance) survey(ctx context.Context, s subject.Subject) ([]subject.VM, error) {
	vms, err := s.VMs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the VMs with storage policies: %w", err)
	}
	if len(vms) < l.VMs {
		return nil, fmt.Errorf("%d VMs have a storage policy, and a call asks about %d: set vms lower, or policies of the service vcenter", len(vms), l.VMs)
	}
	return vms, nil
}

// Prepare has nothing to do.
func (*compliance) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do: policies are as they were.
func (*compliance) Clean(context.Context, workload.Env) error { return nil }

// Run checks until stage.Length or until the recorder has enough.
func (l *compliance) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) (err error) {
	s, err := l.connect(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	vms, err := l.survey(ctx, s)
	if err != nil {
		return err
	}
	t := &tally{}
	var made atomic.Int64
	job := l.offer.Paced(load.Job{Stage: stage, Connections: l.Slots, Classes: classes[:l.kinds()], Caller: func(_ context.Context, number int) (load.Caller, error) {
		made.Add(1)
		return &caller{load: l, subject: s, vms: vms, tally: t, random: rand.New(rand.NewPCG(stage.Seed, uint64(number)))}, nil
	}})
	job.Threads = min(l.Slots, runtime.GOMAXPROCS(0)) // goroutines use all CPUs
	if err := routine.Run(ctx, job, out); err != nil {
		return err
	}
	t.m.Lock()
	defer t.m.Unlock()
	out.Observe("compliance.threads", strconv.FormatInt(made.Load(), 10))
	if t.checks > 0 {
		out.Observe("compliance.vms", strconv.Itoa(t.asked))
	}
	detail := fmt.Sprintf("%d of %d checks answered for other objects than asked", t.wrong, t.checks)
	if t.example != "" {
		detail += ": " + t.example
	}
	out.Check(measure.DataCheck("data", t.wrong == 0, detail))
	return nil
}

// tally counts checks, and those whose answer is not complete.
type tally struct {
	m             sync.Mutex
	checks, wrong int
	asked         int // VMs in the call that was answered last
	example       string
}

// caller makes one call after the other: the changes, and then a check.
type caller struct {
	load    *compliance
	subject subject.Subject
	vms     []subject.VM
	tally   *tally
	random  *rand.Rand
	calls   int
}

// Call makes the next call.
func (c *caller) Call(ctx context.Context) (class int, bytes int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.load.Timeout))
	defer cancel()
	turn := c.calls % (1 + c.load.Changes)
	c.calls++
	if turn < c.load.Changes {
		return apply, 0, c.apply(ctx)
	}
	begin := c.random.IntN(len(c.vms))
	ids, objects := make([]string, c.load.VMs), 0
	for i := range ids {
		v := &c.vms[(begin+i)%len(c.vms)]
		ids[i] = v.ID
		objects += v.Objects
	}
	if c.load.Kind == string(subject.RollUp) {
		objects = len(ids)
	}
	results, err := c.subject.Check(ctx, subject.Kind(c.load.Kind), ids)
	if err != nil {
		return check, 0, err
	}
	c.tally.m.Lock()
	defer c.tally.m.Unlock()
	c.tally.checks++
	c.tally.asked = len(ids)
	if results != objects {
		c.tally.wrong++
		c.tally.example = fmt.Sprintf("%d results of %d", results, objects)
	}
	return check, 0, nil
}

// apply gives a VM its policy again. Each thread has VMs of its own as far as there are enough.
func (c *caller) apply(ctx context.Context) error {
	for range c.vms {
		if v := c.vms[c.random.IntN(len(c.vms))]; v.Policy != "" {
			return c.subject.Apply(ctx, v)
		}
	}
	return errors.New("no VM has a policy of its home")
}

// Close has nothing to do: all callers share a session.
func (*caller) Close() error { return nil }
