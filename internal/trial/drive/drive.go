// Package drive runs the loads of a trial on its machines: prepares them, starts those of several machines together,
// divides a rate among them, adds up what they report, and triggers an event in the middle.
package drive

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// RateSetting is the setting of workloads that offer operations at a rate.
const RateSetting = "rate"

// starting is the notice before a common start of loads: enough for the message to reach
// the slowest machine.
const starting = 200 * time.Millisecond

// Barrier holds loads until all of them are ready.
type Barrier struct {
	mu   sync.Mutex
	left int
	open chan struct{}
	at   time.Time
}

// NewBarrier is for so many loads.
func NewBarrier(loads int) *Barrier { return &Barrier{left: loads, open: make(chan struct{})} }

// Wait returns the instant at which all begin, once all are ready.
func (b *Barrier) Wait(ctx context.Context) (time.Time, error) {
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

// Load is a load with the settings that made it.
type Load struct {
	Load     workload.Load
	Settings parameter.Settings
}

// Driver runs loads on the machines of a trial.
type Driver struct {
	ArmGroups machines.Set
	Kind      workload.Kind // of the subject
	Seed      uint64        // of data
	Target    func(protocol string) (load.Endpoint, error)
	Known     map[string]string // what an earlier trial read back, for loads that are calibrated
	Log       func(format string, args ...any)
	Apart     bool     // each machine of the subject has the whole rate, not a share of it
	begin     *Barrier // of the first load, where other groups begin with it; nil otherwise
}

// Together runs a load on the machines of the subject, which share its rate, and adds up
// their results.
func (d *Driver) Together(ctx context.Context, l Load, stage load.Stage, out *measure.Recorder) error {
	subject := d.ArmGroups.Subject()
	at := d.begin
	d.begin = nil
	if len(subject) == 1 {
		subject[0].Recorder = out
		return d.solo(ctx, &run{subject[0], l, stage, at})
	}
	if at == nil {
		at = NewBarrier(len(subject))
	}
	each, err := d.share(l, len(subject))
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
		return d.solo(ctx, &run{m, each, own, at})
	})
	d.conclude(subject, out)
	return err
}

// run is a load on one machine.
type run struct {
	on    *machines.Member
	load  Load
	stage load.Stage
	begin *Barrier // nil begins at once
}

// solo runs a load on one machine: in a worker of ours, or by the program of the workload.
func (d *Driver) solo(ctx context.Context, r *run) error {
	m := r.on
	if m.Kind.Own && !madeByLab(m) {
		at := agent.Env{Machine: m.At.Machine, Log: d.Log}
		if r.begin != nil {
			at.Begin = r.begin.Wait
		}
		return agent.Run(ctx, at, d.job(m, r.load.Settings, r.stage), m.Recorder)
	}
	if r.begin != nil {
		at, err := r.begin.Wait(ctx)
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
	return r.load.Load.Run(ctx, d.EnvOf(m), r.stage, m.Recorder)
}

// share is the load of each machine where several share a rate.
func (d *Driver) share(l Load, machines int) (Load, error) {
	text, ok := l.Settings[RateSetting]
	if !ok || d.Apart {
		return l, nil
	}
	var rate parameter.Rate
	if err := rate.UnmarshalText([]byte(text)); err != nil {
		return l, err
	}
	settings := maps.Clone(l.Settings)
	settings[RateSetting] = (rate / parameter.Rate(machines)).String()
	each, err := d.Kind.New(settings)
	return Load{each, settings}, err
}

// DemandOf is the demand of all machines of the subject together. The load of the study has
// their whole rate, and the concurrency of one, which has that for each server that it asks.
func DemandOf(l Load, subject int, intervals []measure.Interval) load.Demand {
	d := l.Load.Demand()
	d.Concurrency *= subject * ServersAsked(intervals)
	return d
}

// conclude takes over the values that the workloads of the subject's machines reported. Rates
// add up; of the strain of generators the largest counts; of anything else the mean.
func (d *Driver) conclude(subject machines.Set, out *measure.Recorder) {
	for name, values := range said(subject) {
		v := measure.Mean(values)
		switch {
		case slices.ContainsFunc(d.Kind.Metrics, func(m measure.Metric) bool { return m.Name == name && strings.HasSuffix(m.Unit, "/s") }):
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
	for _, c := range Worst(subject) {
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

// Worst is each check of several machines as the machine has it that does worst.
func Worst(members machines.Set) (checks []measure.Check) {
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

// Title names the workload of a machine.
func Title(m *machines.Member) string {
	return fmt.Sprintf("workload %s on %s", m.Kind.Name, m.Name)
}

// ServersAsked is the number of servers of a load, at least one.
func ServersAsked(intervals []measure.Interval) int {
	n := 1
	for i := range intervals {
		n = max(n, len(intervals[i].Shares))
	}
	return n
}
