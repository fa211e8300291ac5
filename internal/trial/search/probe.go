package search

import (
	"context"
	"fmt"
	"maps"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
)

const (
	// leastServed is the share of the offered operations that a system which
	// keeps up completes.
	leastServed = .99
	// mostGrowth is how much the operations in flight may grow over a probe, as a
	// share of their mean, before they count as a queue without end.
	mostGrowth = .2
	// leastQueued is which share of the operations of a probe must have been added to
	// those in flight before that counts: half of the 1 % by which a rate can be too high and pass.
	leastQueued = .005
	// perBatch and probeBatches are how many values must lie beyond the quantile
	// that is judged, in each of how many parts of the probe.
	perBatch     = 10
	probeBatches = 10
	// bunchErrors is how many errors an operation explains that came late with others.
	bunchErrors = 2
	// settling is the part of a probe that is cut off at its beginning.
	settling = measure.Settling
)

// probe offers the load at one rate and judges the result. Its error is
// trouble with the load itself; a system that fails is an answer.
func (s *Search) probe(ctx context.Context, want peak.Probe) (measure.Probe, error) {
	p := measure.Probe{Phase: string(want.Phase), Rate: want.Rate}
	if len(s.Record.Probes) > 0 { // leftovers of earlier probes must not move the peak
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
	e := extent{length: s.probeLength(want)}
	if want.Ends != peak.Whole {
		e.sure = newCertainty(s.limits.within, s.Study.Measure.Window, e.length, want)
	}
	err = s.perform(ctx, &p, drive.Load{Load: l, Settings: settings}, e)
	return p, err
}

// probeLength is how long a probe takes.
func (s *Search) probeLength(want peak.Probe) time.Duration {
	return ProbeLength(s.Study, s.limits.within, want.Rate, want.Seconds)
}

// ProbeLength is so long that so many seconds count, and that they suffice at a rate for the highest quantile among limits. It is no longer than
// a trial may be.
func ProbeLength(s *study.Study, within []study.Limit, rate, seconds float64) time.Duration {
	need := max(seconds, probeBatches*perBatch/(1-deepest(within))/rate) / (1 - settling)
	return min(time.Duration(need*1e9), longestProbe(s))
}

// longestProbe is as long as a trial may be, and leaves room for a confirmation.
func longestProbe(s *study.Study) time.Duration {
	m := s.Measure
	return max(m.Longest, time.Duration(peak.ConfirmRatio/(1-settling)*float64(m.Window)))
}
