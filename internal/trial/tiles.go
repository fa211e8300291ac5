package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/tile"
)

// tiling is a trial of tiles. For a trial without, amid adds nothing to the work and judge does nothing.
type tiling struct{ of *attempt }

// Scale has the machines of so many tiles, and their services, running, and no others.
func (t tiling) Scale(ctx context.Context, tiles int) error {
	a := t.of
	if len(a.crew.Subject()) == tiles {
		return nil
	}
	crew, err := tilesOf(ctx, a.session, a.arm.Levels, tiles)
	if err != nil {
		return err
	}
	for _, m := range crew { // the counters of a host are read once
		for _, former := range a.crew {
			if former.Name == m.Name {
				m.Sampler = former.Sampler
			}
		}
	}
	if err := crew.Build(); err != nil {
		return err
	}
	a.crew, a.driver.ArmGroups = crew, crew
	return a.session.tiles.Start(ctx, a.arm, crew, a.trial.Seed)
}

// amid does some work with the services of all tiles guarded, and management operations beside it.
func (t tiling) amid(ctx context.Context, work func(context.Context) error) error {
	a := t.of
	return a.session.tiles.Guard(ctx, func(ctx context.Context) error {
		return a.session.tiles.Alongside(ctx, a.managed, a.crew, work)
	})
}

// beside runs the load of the subject, and those of other groups beside it. Each load of a growth of tiles is one of all machines.
func (t tiling) beside(ctx context.Context, subject func() error) error {
	a := t.of
	if a.study.Load.Growth.Tiles() {
		return subject()
	}
	return a.driver.Alongside(ctx, load.Stage{Length: longest(a.study), Interval: a.study.Measure.Interval, Seed: a.trial.Seed}, subject)
}

// managedIn are the operations that were completed in a window of a load that began at an instant.
func (t tiling) managedIn(began time.Time, w measure.Window) (all []tile.Managed) {
	a := t.of
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * 1e9)) }
	rates := a.managed.PerHour(at(w.Cut), at(w.End))
	for _, o := range a.study.Operations {
		all = append(all, tile.Managed{Operation: o, PerHour: rates[o.Kind]})
	}
	return all
}

// wattsIn is the mean power in a window of a load that began at an instant; 0 where it is unknown.
func (t tiling) wattsIn(began time.Time, w measure.Window) float64 {
	watts, err := metering{t.of}.wattsIn(began, w)
	if err != nil {
		return 0
	}
	return watts
}

// judgeProbe holds the members of tiles against their limits after a probe; nil without tiles.
func (t tiling) judgeProbe() func(p *measure.Probe, w measure.Window) error {
	a := t.of
	if !a.study.Load.Growth.Tiles() {
		return nil
	}
	return func(p *measure.Probe, w measure.Window) error {
		var all []tile.Work
		for _, m := range a.crew.Driving() {
			s, err := measure.Summarise(m.Recorder.Intervals(), w, m.Kind.Rate)
			if err != nil {
				return fmt.Errorf("%s: %w", drive.Title(m), err)
			}
			maps.Copy(s.Values, m.Recorder.Values())
			all = append(all, tile.Work{Tile: m.Index + 1, Group: m.Group, Rate: m.Kind.Rate, Values: s.Values})
			if failed := measure.DataFailures(m.Recorder.Checks()); len(failed) > 0 {
				a.parts.Lost = append(a.parts.Lost, failed...)
			}
		}
		ended := a.record.Start.Add(time.Duration(p.Ended * 1e9))
		began := ended.Add(-time.Duration(w.End * 1e9))
		out, err := tile.Judge(all, t.managedIn(began, w), t.wattsIn(began, w))
		if few := (*tile.Unknown)(nil); errors.As(err, &few) && len(a.record.Probes) > 0 { // in the same window fewer tiles completed enough
			p.Limiting, p.Reason = few.Name(), few.Reason()
			return nil
		}
		if err != nil {
			return t.tooShort(err)
		}
		p.Values, p.Passed = out.Values, len(out.Missed) == 0
		if !p.Passed {
			p.Limiting, p.Reason = out.Missed[0].Name(), out.Missed[0].String()
		}
		return nil
	}
}

// tooShort is the error of a window that cannot tell a limit: a mistake of the study, which its first trial shows.
func (t tiling) tooShort(err error) error {
	a := t.of
	if unknown := (*tile.Unknown)(nil); errors.As(err, &unknown) && a.record.Trial == 1 {
		return fault.Refuse("%w", unknown)
	}
	return fault.Voids(err)
}

// judge enters in the record how many tiles met their limits, and their score: by the work of their members, or by
// the probes of a growth.
func (t tiling) judge() error {
	a := t.of
	if !a.study.Tiled() {
		return nil
	}
	var all []tile.Work
	number := map[string]int{}
	for _, p := range a.record.Parts {
		if p.Workload == "" { // the twin
			continue
		}
		number[p.Group]++
		all = append(all, tile.Work{Tile: number[p.Group], Group: t.groupOf(p.Group), Rate: p.Rate, Values: p.Values})
	}
	out, err := tile.Judge(all, t.managedIn(a.began, a.record.Window), t.wattsIn(a.began, a.record.Window))
	if err != nil {
		return t.tooShort(err)
	}
	lead, own := a.crew.Lead().Group.Name, map[string]float64{}
	for _, m := range a.kind.Metrics { // of the first group, whose names have no prefix so far
		if v, ok := a.record.Values[m.Name]; ok {
			own[lead+"."+m.Name] = v
			delete(a.record.Values, m.Name)
		}
	}
	delete(a.record.Values, measure.Fairness)
	delete(a.record.Values, measure.Least)
	maps.Copy(a.record.Values, own)
	maps.Copy(a.record.Values, out.Values)
	for _, m := range out.Missed {
		a.record.Warnings = append(a.record.Warnings, m.String())
	}
	return nil
}

// enterScores enters the scores of the number of tiles that a growth found: the mean of the probes that confirmed it or,
// without any, of all with so many tiles.
func (t tiling) enterScores() {
	a := t.of
	if !a.study.Tiled() {
		return
	}
	sums, counts, confirmed := map[string]float64{}, map[string]float64{}, false
	for _, p := range a.record.Probes {
		confirms := p.Phase == string(peak.Confirm)
		if !p.Passed || float64(p.Units) != a.record.Peak.Estimate || confirmed && !confirms {
			continue
		}
		if confirms && !confirmed {
			sums, counts, confirmed = map[string]float64{}, map[string]float64{}, true
		}
		for name, v := range p.Values {
			sums[name], counts[name] = sums[name]+v, counts[name]+1
		}
	}
	for name, sum := range sums {
		if name != measure.TilesMetric().Name {
			a.record.Values[name] = sum / counts[name]
		}
	}
}

// groupOf finds a group of the arm by name.
func (t tiling) groupOf(name string) (g study.Group) {
	a := t.of
	for _, m := range a.crew {
		if m.Group.Name == name {
			return m.Group
		}
	}
	return g
}

// demand is that of all machines of the subject together. In tiles each has the whole rate.
func (t tiling) demand(intervals []measure.Interval) load.Demand {
	a := t.of
	subject := len(a.crew.Subject())
	d := drive.DemandOf(a.load, subject, intervals)
	if a.study.Tiled() {
		d.Rate *= float64(subject)
	}
	return d
}
