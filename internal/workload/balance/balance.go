// Package balance is a workload that follows a cluster while the demand of its VMs changes: it
// measures the CPU that they ask for and do not get, by the counters of the platform, and balances
// the cluster in rounds if it is told to.
package balance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/balance/subject"
)

// Parameters are what a study may set.
type Parameters struct {
	By    string             `name:"by" doc:"nobody: VMs are left where they are; plimsoll: rounds of plimsoll's balancing are carried out" choices:"nobody,plimsoll"`
	Every parameter.Duration `name:"every" doc:"time from one round to the next, by the clock of this host; the first is at the beginning" min:"1s" max:"24h"`
}

const plimsoll = "plimsoll"

func defaults() Parameters {
	return Parameters{By: "nobody", Every: parameter.Duration(5 * time.Minute)}
}

// Kind is the workload as the catalog lists it. The client of the platform is handed in.
func Kind(open subject.Opener) workload.Kind {
	return workload.Define(workload.Kind{
		Name:  "balance",
		Doc:   "CPU that the VMs of a cluster ask for and do not get, with and without rounds of balancing",
		Rate:  "clock",
		Needs: "a vCenter with VMs that run, or the built-in simulator of one",
		Metrics: []measure.Metric{
			{Name: "lost", Unit: "1", Doc: "share of the CPU cycles demanded by VMs that they did not get", Better: measure.LowerIsBetter},
			{Name: "demanded", Unit: "1/s", Doc: "CPU cycles demanded by VMs per second of the platform's clock"},
			{Name: "delivered", Unit: "1/s", Doc: "of these, CPU cycles that VMs got", Better: measure.HigherIsBetter},
			{Name: "ready", Unit: "1", Doc: "vCPUs that were ready and waited for a CPU, on average", Better: measure.LowerIsBetter},
			{Name: "moves", Unit: "1", Doc: "migrations of VMs, whoever made them"},
			{Name: "moves.planned", Unit: "1", Doc: "moves that plimsoll planned"},
			{Name: "moves.made", Unit: "1", Doc: "moves that plimsoll made"},
			{Name: "rounds", Unit: "1", Doc: "rounds of plimsoll's balancing"},
			{Name: "rounds.stopped", Unit: "1", Doc: "rounds that a surprise ended", Better: measure.LowerIsBetter},
			{Name: "clock", Unit: "1/s", Doc: "seconds of the platform's clock per second"},
			{Name: "throughput", Unit: "B/s", Doc: "always 0"},
			{Name: "errors", Unit: "1/s", Doc: "always 0: rounds that stop are counted apart", Better: measure.LowerIsBetter},
		},
		Speaks: []string{protocol},
		Own:    true, Lab: true, Clocked: true,
	}, defaults(), func(p Parameters) (workload.Load, error) {
		return &balance{p, open}, nil
	})
}

const protocol = "vsphere"

type balance struct {
	Parameters
	open subject.Opener
}

// Demand is one class without a number: the VMs have the demand.
func (*balance) Demand() load.Demand {
	return load.Demand{Concurrency: 1, Classes: []load.Class{{Share: 1}}}
}

// Check says what the load changes, and connects to the platform if it runs already.
func (l *balance) Check(ctx context.Context, env workload.Env) (needs workload.Needs, err error) {
	if l.By == plimsoll {
		needs.Changes = []string{"moves VMs of the cluster as cluster balance plans; they stay where they are then"}
	}
	if env.Target == nil {
		return needs, nil // it will be started
	}
	s, err := l.connect(ctx, env)
	if err != nil {
		return needs, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if r, is := s.(subject.Restricted); is && l.By == plimsoll {
		err = r.MayBalance(ctx)
	}
	return needs, err
}

// connect opens the platform of the study.
func (l *balance) connect(ctx context.Context, env workload.Env) (subject.Subject, error) {
	if env.Target == nil {
		return nil, errors.New("the workload balance requires a vCenter: add the service vcenter to the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, err
	}
	return l.open(ctx, at)
}

// Prepare has nothing to do.
func (*balance) Prepare(context.Context, workload.Env) error { return nil }

// Clean has nothing to do: VMs stay where they were moved to.
func (*balance) Clean(context.Context, workload.Env) error { return nil }

// Run follows the cluster until stage.Length or until the recorder has enough.
func (l *balance) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) (err error) {
	s, err := l.connect(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := &run{load: l, subject: s, dir: env.Dir, out: out}
	if err := r.follow(ctx, stage); err != nil {
		return err
	}
	return r.report()
}

// run is a load under way.
type run struct {
	load    *balance
	subject subject.Subject
	dir     string
	out     *measure.Recorder

	total   subject.Usage
	clock   time.Time // of the platform, at the end of the last interval
	rounds  int
	planned int
	made    int
	stopped []string
}

// rounds are made beside the readings, so that a long one delays none.
func (r *run) balance(ctx context.Context, ended chan<- error) {
	tick := time.NewTicker(time.Duration(r.load.Every))
	defer tick.Stop()
	for ctx.Err() == nil {
		round, err := r.subject.Balance(ctx, filepath.Join(r.dir, fmt.Sprintf("balance-%d.jsonl", time.Now().UnixNano())))
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			ended <- fmt.Errorf("balance the cluster: %w", err)
			return
		}
		r.rounds++
		r.planned += round.Planned
		r.made += round.Made
		if round.Stopped != "" {
			r.stopped = append(r.stopped, round.Stopped)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	ended <- nil
}

// follow reads the counters at the end of each interval.
func (r *run) follow(ctx context.Context, stage load.Stage) (err error) {
	if r.clock, err = r.subject.Now(ctx); err != nil {
		return err
	}
	if r.load.By == plimsoll {
		ended := make(chan error, 1)
		rounds, stop := context.WithCancel(ctx)
		go r.balance(rounds, ended)
		defer func() {
			stop()
			err = errors.Join(err, <-ended)
		}()
	}
	began := time.Now()
	for from := time.Duration(0); from < stage.Length; {
		to := min(from+stage.Interval, stage.Length)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Until(began.Add(to))):
		}
		if err := r.read(ctx); err != nil {
			return err
		}
		now, err := r.subject.Now(ctx)
		if err != nil {
			return err
		}
		passed := now.Sub(r.clock)
		r.clock = now
		to = max(to, time.Since(began))
		if !r.out.Interval(measure.Interval{From: from, To: to, Samples: []measure.Sample{{Operations: max(0, int64(passed.Round(time.Second)/time.Second))}}}) {
			return nil
		}
		from = to
	}
	return nil
}

func (r *run) read(ctx context.Context) error {
	u, err := r.subject.Next(ctx)
	if err != nil {
		return fmt.Errorf("read what VMs ask for and get: %w", err)
	}
	r.total.Seconds += u.Seconds
	r.total.Demanded += u.Demanded
	r.total.Delivered += u.Delivered
	r.total.Waited += u.Waited
	r.total.Moved += u.Moved
	return nil
}

// report records the metrics.
func (r *run) report() error {
	t := &r.total
	if t.Seconds == 0 || t.Demanded == 0 {
		return errors.New("the platform has no samples of the load: set measure.window above its sampling interval, 20 s of its clock")
	}
	for name, v := range map[string]float64{
		"lost": 1 - t.Delivered/t.Demanded, "demanded": t.Demanded / t.Seconds, "delivered": t.Delivered / t.Seconds, "ready": t.Waited / t.Seconds,
		"moves": float64(t.Moved), "moves.planned": float64(r.planned), "moves.made": float64(r.made),
		"rounds": float64(r.rounds), "rounds.stopped": float64(len(r.stopped)),
	} {
		r.out.Value(name, v)
	}
	by := "nobody"
	if r.rounds > 0 {
		by = plimsoll
	}
	r.out.Observe("balance.by", by)
	if len(r.stopped) > 0 {
		r.out.Check(measure.Check{Name: "rounds", State: measure.Unknown, Detail: fmt.Sprintf("%d of %d rounds were stopped, the first because: %s", len(r.stopped), r.rounds, r.stopped[0])})
	}
	return r.removeJournals()
}

// removeJournals removes the journals of the rounds, which will not be undone.
func (r *run) removeJournals() error {
	names, err := filepath.Glob(filepath.Join(r.dir, "balance-*.jsonl"))
	for _, name := range names {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
