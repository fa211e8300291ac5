package search

import (
	"context"
	"fmt"
	"maps"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/fault"
)

const (
	// leastServed is the share of the offered operations that a system which
	// keeps up completes.
	leastServed = .99
	// mostGrowth is how much the operations in flight may grow over a probe, as a
	// share of their mean, before they count as a queue without end.
	mostGrowth = .2
	// leastQueued is which share of the operations of a probe must have been added to
	// those in flight before that counts: a few more of few are no queue.
	leastQueued = .001
	// perBatch and probeBatches are how many values must lie beyond the quantile
	// that is judged, in each of how many parts of the probe.
	perBatch     = 10
	probeBatches = 10
	// bunchErrors is how many errors an operation explains that came late with others.
	bunchErrors = 2
	// settling is the part of a probe that is cut off at its beginning.
	settling = .2
)

// probe offers the load at one rate and judges what came of it. Its error is
// trouble with the load itself; a system that fails is an answer.
func (s *Search) probe(ctx context.Context, want peak.Probe) (measure.Probe, error) {
	p := measure.Probe{Phase: string(want.Phase), Rate: want.Rate}
	if len(s.Record.Probes) > 0 { // what the probes before left behind must not move the peak
		if err := s.Trial.Renew(ctx); err != nil {
			return p, err
		}
	}
	s.Say(fmt.Sprintf("%s at %.4g/s", want.Phase, want.Rate))
	settings := maps.Clone(s.Load.Settings)
	settings[drive.RateSetting] = parameter.Rate(want.Rate).String()
	l, err := s.Kind.New(settings)
	if err != nil {
		return p, fmt.Errorf("workload %s at %s: %w", s.Kind.Name, settings[drive.RateSetting], err)
	}
	err = s.perform(ctx, &p, drive.Load{Load: l, Settings: settings}, s.probeLength(want))
	return p, err
}

// perform offers the load of a probe and enters what came of it. Its error is
// trouble with the load itself.
func (s *Search) perform(ctx context.Context, p *measure.Probe, l drive.Load, length time.Duration) error {
	p.From, p.Values = s.Span().Seconds(), map[string]float64{}
	p.Began = s.Now().Sub(s.Record.Start).Seconds()
	before := s.census(ctx)
	stage := load.Stage{Length: length, Interval: max(length/200, 10*time.Millisecond), Seed: s.At.Seed + uint64(len(s.Record.Probes))}
	recorder := measure.NewRecorder(nil)
	used := func() (float64, bool) { return 0, false }
	if s.limits.on(measure.HostCPU().Name) {
		used = s.watchCPU(ctx, time.Duration(settling*float64(length)))
	}
	err := s.Trial.Offer(ctx, l, stage, recorder)
	p.Ended = s.Now().Sub(s.Record.Start).Seconds()
	busy, known := used()
	intervals := recorder.Intervals()
	if ctx.Err() != nil || len(intervals) == 0 {
		return err
	}
	end := intervals[len(intervals)-1].To
	summary, summed := measure.Summarise(intervals, measure.Window{Cut: settling * end.Seconds(), End: end.Seconds()}, s.Kind.Rate)
	if summed != nil {
		return summed
	}
	p.Values = summary.Values
	maps.Copy(p.Values, recorder.Values())
	maps.Copy(s.Record.Observed, recorder.Observed())
	if known {
		p.Values[measure.HostCPU().Name] = busy
	}
	p.Stalls = s.limits.stalls(p, intervals)
	s.limits.judgeProbe(p, recorder, err)
	if p.Invalid {
		s.explainVoid(p, before, s.census(ctx))
	}
	s.keep(intervals)
	p.To = s.Span().Seconds()
	s.Record.Probes = append(s.Record.Probes, *p)
	if failed := measure.DataFailures(recorder.Checks()); len(failed) > 0 {
		s.lost = append(s.lost, failed...)
		return fault.Void("%s", certify.DataFailed(failed[0]))
	}
	return nil
}

// probeLength is long enough for the quantile that is judged, and no longer than a
// trial may be.
func (s *Search) probeLength(want peak.Probe) time.Duration {
	need := max(want.Seconds, probeBatches*perBatch/(1-deepest(s.limits.within))/want.Rate) / (1 - settling)
	return min(time.Duration(need*1e9), s.longestProbe())
}

// longestProbe is as long as a trial may be, and leaves room for a confirmation.
func (s *Search) longestProbe() time.Duration {
	m := s.Study.Measure
	return max(m.Longest, time.Duration(confirming/(1-settling)*float64(m.Window)))
}

// keep appends the intervals of a probe to those of the trial.
func (s *Search) keep(intervals []measure.Interval) {
	from := s.Span()
	for _, in := range intervals {
		in.From, in.To = in.From+from, in.To+from
		s.intervals = append(s.intervals, in)
	}
}
