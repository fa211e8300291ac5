package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan/growth"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
)

// grow adds servers until one more does not keep the limits. A study of one trial
// measures every size several times; where several trials come together each climbs
// once, which is one datum for its block.
func (a *attempt) grow(ctx context.Context) error {
	asked := a.Study.Load.Growth
	fleet, err := a.services.Scaler()
	if err != nil {
		return err
	}
	settings := growth.Settings{First: asked.From, Step: asked.Step, Most: asked.To, Seed: a.Plan.Seed, Level: a.Plan.Level}
	g := growth.NewClimb(settings, int(a.centre()))
	if a.blocks == 1 && len(a.Plan.Arms) == 1 {
		g = growth.New(settings)
	}
	servers := 0
	for {
		want, more := g.Next()
		if !more {
			a.carried(g.Answer())
			return nil
		}
		if err := fleet.Scale(ctx, want.Units); err != nil {
			return fmt.Errorf("have %d servers: %w", want.Units, err)
		}
		if want.Units != servers { // those that were just started are empty, and not at rest
			if err := a.load.load.Prepare(ctx, a.envOf(a.crew.Lead())); err != nil {
				return fmt.Errorf("prepare workload %s for %d servers: %w", a.kind.Name, want.Units, err)
			}
			if err := a.settle(ctx); err != nil {
				return err
			}
		}
		servers = want.Units
		a.reporter.say(PhaseMeasure, 0, fmt.Sprintf("%d servers", want.Units))
		p, err := a.probeSize(ctx, want)
		if err != nil {
			return err
		}
		g.Done(growth.Result{Metric: p.Values[a.kind.Rate], Pass: p.Passed, Reason: p.Reason, GeneratorLimited: p.Invalid})
	}
}

// probeSize offers the load of the study to each of so many servers.
func (a *attempt) probeSize(ctx context.Context, want growth.Size) (measure.Probe, error) {
	phase := "growth"
	if want.Fresh {
		phase = string(peak.Confirm)
	}
	each := a.load.load.Demand().Rate
	p := measure.Probe{Phase: phase, Units: want.Units, Rate: each * float64(want.Units)}
	deepest := deepest(a.Study.Load.Growth.Within)
	// Half a percent of the operations of a small fleet are few.
	const beyond = 20
	need := a.Study.Measure.Window.Seconds()
	if p.Rate > 0 {
		need = max(need, beyond/(1-deepest)/p.Rate)
	}
	length := min(time.Duration(need/(1-settling)*1e9), a.Study.Measure.Longest)
	err := a.perform(ctx, &p, a.load, length)
	return p, err
}

// carried enters the answer of a growth in the record.
func (a *attempt) carried(answer growth.Answer) {
	a.record.Peak = &measure.Peak{
		Word: string(answer.Word), Why: answer.Why, Limiting: answer.Limiting, Estimate: float64(answer.Units),
	}
	for _, p := range a.record.Probes {
		switch n := float64(p.Units); {
		case p.Invalid:
		case p.Passed:
			a.record.Peak.MaxPass = math.Max(a.record.Peak.MaxPass, n)
		case a.record.Peak.MinFail == 0 || n < a.record.Peak.MinFail:
			a.record.Peak.MinFail = n
		}
	}
}

// watchCPU measures which share of the host's CPUs is in use, from a while after now
// until the returned function is called. That answers false where nothing tells.
func (a *attempt) watchCPU(ctx context.Context, after time.Duration) (used func() (float64, bool)) {
	nothing := func() (float64, bool) { return 0, false }
	i := slices.IndexFunc(a.Catalog.Sources, func(s collect.Source) bool { return s.Name == "cpu" })
	if i < 0 || a.sim != nil {
		return nothing
	}
	read, err := a.Catalog.Sources[i].Open(ctx, collect.Place{Machine: a.machines.Machine, Dir: a.machines.Scratch})
	if err != nil {
		return nothing
	}
	var first map[string]float64
	var from time.Time
	begun := make(chan struct{})
	timer := time.AfterFunc(after, func() {
		defer close(begun)
		if first, err = read(ctx); err == nil {
			from = time.Now()
		}
	})
	return func() (float64, bool) {
		if timer.Stop() { // the load ended before its part that counts began
			return 0, false
		}
		<-begun
		if err != nil {
			return 0, false
		}
		last, err := read(ctx)
		span := time.Since(from).Seconds()
		if err != nil || last["cpu.count"] <= 0 {
			return 0, false
		}
		idle := last["cpu.idle"] + last["cpu.iowait"] - first["cpu.idle"] - first["cpu.iowait"]
		return min(1, max(0, 1-idle/span/last["cpu.count"])), true
	}
}

// deepest is the highest quantile that is limited, as a share.
func deepest(within []study.Limit) float64 {
	q := 0.
	for _, l := range within {
		if v, ok := measure.QuantileOf(l.Metric); ok {
			q = max(q, v)
		}
	}
	return q
}

// limits are those that each probe of a search is held against.
func (a *attempt) limits() []study.Limit {
	if g := a.Study.Load.Growth; g != nil {
		return g.Within
	}
	return a.Study.Load.Peak.Within
}

// needsHostCPU says whether a limit is on the use of the host's CPUs.
func (a *attempt) needsHostCPU() bool {
	return slices.ContainsFunc(a.limits(), func(l study.Limit) bool { return l.Metric == measure.HostCPU().Name })
}
