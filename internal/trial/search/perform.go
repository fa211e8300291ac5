package search

import (
	"context"
	"maps"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/fault"
)

// intervalOf is the length of the intervals of a probe, a 200th of it within bounds. In intervals of more than 500 ms
// stalls of seconds hardly show. Probes of more than ten minutes are bounded in the number of their intervals instead.
func intervalOf(probe time.Duration) time.Duration {
	const shortest, longest, most = 10 * time.Millisecond, 500 * time.Millisecond, 1200
	return min(max(probe/200, shortest), max(longest, probe/most))
}

// extent is how long a probe takes.
type extent struct {
	length time.Duration
	sure   *certainty // ends it earlier; nil never
}

// perform offers the load of a probe and records the result. Its error is a failure of the
// load itself.
func (s *Search) perform(ctx context.Context, p *measure.Probe, l drive.Load, e extent) error {
	p.From, p.Values = s.Span().Seconds(), map[string]float64{}
	p.Began = s.Now().Sub(s.Record.Start).Seconds()
	before := s.census(ctx)
	stage := load.Stage{Length: e.length, Interval: intervalOf(e.length), Seed: s.At.Seed + uint64(len(s.Record.Probes)), Within: s.limits.strictest()}
	recorder := measure.NewRecorder(func(r *measure.Recorder) bool {
		seen := s.Seen != nil && s.Seen(r)
		return e.sure.enough(r) || seen
	})
	used := func() (float64, bool) { return 0, false }
	if s.limits.on(measure.HostCPU().Name) {
		used = s.watchCPU(ctx, time.Duration(settling*float64(e.length)))
	}
	err := s.Trial.Offer(ctx, l, stage, recorder)
	p.Ended = s.Now().Sub(s.Record.Start).Seconds()
	busy, known := used()
	intervals := recorder.Intervals()
	if ctx.Err() != nil || len(intervals) == 0 {
		return err
	}
	end := intervals[len(intervals)-1].To
	if s.Tiles != nil {
		return s.performTiles(p, err, intervals)
	}
	summary, summed := measure.Summarise(intervals, measure.Window{Cut: settling * end.Seconds(), End: end.Seconds()}, s.Kind.Rate)
	if summed == nil {
		p.Values = summary.Values
	}
	maps.Copy(p.Values, recorder.Values())
	maps.Copy(s.Record.Observed, recorder.Observed())
	if known {
		p.Values[measure.HostCPU().Name] = busy
	}
	p.Stalls = s.limits.stalls(p, intervals)
	s.limits.judgeProbe(p, recorder, err, e.sure)
	if summed != nil { // a generator that lacked CPU counted too seldom
		p.Passed, p.Overload, p.Limiting = false, false, ""
		p.Invalid, p.Reason = true, summed.Error()
	}
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

// performTiles records a probe of a growth that adds tiles: a load that failed is no answer.
func (s *Search) performTiles(p *measure.Probe, failed error, intervals []measure.Interval) error {
	if failed != nil {
		return failed
	}
	end := intervals[len(intervals)-1].To.Seconds()
	if err := s.Tiles(p, measure.Window{Cut: settling * end, End: end}); err != nil {
		return err
	}
	s.keep(intervals)
	p.To = s.Span().Seconds()
	s.Record.Probes = append(s.Record.Probes, *p)
	return nil
}

// keep appends the intervals of a probe to the trial's.
func (s *Search) keep(intervals []measure.Interval) {
	from := s.Span()
	for _, in := range intervals {
		in.From, in.To = in.From+from, in.To+from
		s.intervals = append(s.intervals, in)
	}
}
