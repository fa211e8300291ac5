package trial

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/trial/machines"
)

// starting is how long before loads begin together they are told when: long enough for the
// message to reach the slowest of them.
const starting = 200 * time.Millisecond

// barrier holds loads until all of them are ready.
type barrier struct {
	mu   sync.Mutex
	left int
	open chan struct{}
	at   time.Time
}

func newBarrier(loads int) *barrier { return &barrier{left: loads, open: make(chan struct{})} }

// wait returns the instant at which all begin, once all are ready.
func (b *barrier) wait(ctx context.Context) (time.Time, error) {
	b.mu.Lock()
	if b.left--; b.left == 0 {
		b.at = time.Now().Add(starting)
		close(b.open)
	}
	b.mu.Unlock()
	select {
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	case <-b.open:
		return b.at, nil
	}
}

// together runs a load on the machines of the subject, which share what is offered, and adds
// up what they do.
func (a *attempt) together(ctx context.Context, l prepared, stage load.Stage, out *measure.Recorder) error {
	subject := a.crew.Subject()
	at := a.begin
	a.begin = nil
	if len(subject) == 1 {
		subject[0].Recorder = out
		return a.solo(ctx, &run{subject[0], l, stage, at})
	}
	if at == nil {
		at = newBarrier(len(subject))
	}
	each, err := a.share(l, len(subject))
	if err != nil {
		return err
	}
	whole := measure.NewMerger(len(subject), out)
	for i, m := range subject {
		m.Recorder = measure.NewRecorder(func(r *measure.Recorder) bool {
			all := r.Intervals()
			return !whole.Take(i, all[len(all)-1])
		})
	}
	err = subject.Each(ctx, func(ctx context.Context, m *machines.Member) error {
		own := stage
		own.Seed = machines.DataSeed(stage.Seed, m.Index)
		return a.solo(ctx, &run{m, each, own, at})
	})
	a.conclude(subject, out)
	return err
}

// run is a load on one machine.
type run struct {
	on    *machines.Member
	load  prepared
	stage load.Stage
	begin *barrier // nil begins at once
}

// solo runs a load on one machine: in a worker, or by what the workload drives.
func (a *attempt) solo(ctx context.Context, r *run) error {
	m := r.on
	if m.Kind.Own {
		at := agent.Place{Machine: m.At.Machine, Log: a.log}
		if r.begin != nil {
			at.Begin = r.begin.wait
		}
		return agent.Run(ctx, at, a.job(m, r.load.settings, r.stage), m.Recorder)
	}
	if r.begin != nil {
		at, err := r.begin.wait(ctx)
		if err != nil {
			return err
		}
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}
		m.Recorder.Value(agent.Late, time.Since(at).Seconds())
	}
	return r.load.load.Run(ctx, a.envOf(m), r.stage, m.Recorder)
}

// share is the load of each machine where several share a rate.
func (a *attempt) share(l prepared, machines int) (prepared, error) {
	text, ok := l.settings[rateSetting]
	if !ok {
		return l, nil
	}
	var rate parameter.Rate
	if err := rate.UnmarshalText([]byte(text)); err != nil {
		return l, err
	}
	settings := maps.Clone(l.settings)
	settings[rateSetting] = (rate / parameter.Rate(machines)).String()
	each, err := a.kind.New(settings)
	return prepared{each, settings}, err
}

// demand is what all machines of the subject ask together. The load of the study has their
// whole rate, and the concurrency of one, which has that for each server that it asks.
func (a *attempt) demand() load.Demand {
	d := a.load.load.Demand()
	d.Concurrency *= len(a.crew.Subject()) * serversAsked(a.recorder.Intervals())
	return d
}

// conclude takes over what the workloads of the subject's machines said at their end. What is
// counted per second adds up; of what strains a generator the most counts; of anything else
// the mean.
func (a *attempt) conclude(subject machines.Set, out *measure.Recorder) {
	for name, values := range said(subject) {
		v := mean(values)
		switch {
		case slices.ContainsFunc(a.kind.Metrics, func(m measure.Metric) bool { return m.Name == name && strings.HasSuffix(m.Unit, "/s") }):
			v *= float64(len(values))
		case name == measure.GeneratorCPU || name == agent.Late || strings.HasSuffix(name, ".gap"):
			v = slices.Max(values)
		}
		out.Value(name, v)
	}
	for _, m := range subject {
		for setting, level := range m.Recorder.Observed() {
			if former, ok := out.Observed()[setting]; !ok || former == level {
				out.Observe(setting, level)
			} else if !strings.Contains(former, level) {
				out.Observe(setting, former+" and "+level)
			}
		}
	}
	for _, c := range worst(subject) {
		out.Check(c)
	}
}

func said(members machines.Set) map[string][]float64 {
	all := map[string][]float64{}
	for _, m := range members {
		for name, v := range m.Recorder.Values() {
			all[name] = append(all[name], v)
		}
	}
	return all
}

// worst is each check of several machines as the machine has it that does worst.
func worst(members machines.Set) (checks []measure.Check) {
	rank := map[measure.State]int{measure.Pass: 0, measure.Unknown: 1, measure.Fail: 2}
	for _, m := range members {
		for _, c := range m.Recorder.Checks() {
			c.Detail = m.Name + ": " + c.Detail
			switch i := slices.IndexFunc(checks, func(k measure.Check) bool { return k.Name == c.Name }); {
			case i < 0:
				checks = append(checks, c)
			case rank[c.State] > rank[checks[i].State]:
				checks[i] = c
			}
		}
	}
	return checks
}

// fairness tells how the machines of a group shared what there was.
func fairness(rates []float64) (index, least float64) {
	least = math.Inf(1)
	for _, r := range rates {
		least = min(least, r)
	}
	return measure.Jain(rates), least
}

func title(m *machines.Member) string {
	return fmt.Sprintf("workload %s on %s", m.Kind.Name, m.Name)
}
