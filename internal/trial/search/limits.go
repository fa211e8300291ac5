package search

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/certify"
)

// limits judges probes.
type limits struct {
	within []study.Limit
	rate   string // metric of operations per second
}

// on reports whether a metric is limited.
func (l *limits) on(metric string) bool {
	return slices.ContainsFunc(l.within, func(limit study.Limit) bool { return limit.Metric == metric })
}

// judgeProbe decides whether a probe passed: what the system could not keep up with is
// overload, and the rest is held against the limits. A probe that the generator was late
// with counts where it kept its limits all the same: response times count from when
// operations were due, its own lag included.
func (l *limits) judgeProbe(p *measure.Probe, r *measure.Recorder, failed error, sure *certainty) {
	if failed := measure.DataFailures(r.Checks()); len(failed) > 0 {
		p.Reason = certify.DataFailed(failed[0])
		return
	}
	// A host that is full leaves nothing for a generator on it: that is an answer.
	if l.exceeds(p, measure.HostCPU().Name) {
		return
	}
	late := ""
	for _, c := range r.Checks() {
		switch {
		case c.State != measure.Fail:
		case c.Name == "generator":
			late = c.Name + ": " + c.Detail
		default:
			p.Invalid, p.Reason = true, c.Name+": "+c.Detail
			return
		}
	}
	if failed != nil {
		p.Invalid, p.Reason = errors.Is(failed, agent.ErrNoResult), failed.Error()
		return
	}
	l.judgeLimits(p, r, sure)
	switch bunches := (late != "" || p.Values[measure.GeneratorWaited] > littleWaited) && l.refusedBunches(p, r.Intervals()); {
	case bunches && late == "":
		late = "the generator stalled, and no more operations failed than it then started late, all at once"
	case bunches:
	case late == "" || carriedInWindow(p) || p.Passed && l.keptWithAbandoned(p, r.Intervals()) || !p.Passed && l.failedItself(p):
		return
	}
	p.Passed, p.Overload, p.Limiting = false, false, ""
	p.Invalid, p.Reason = true, late
}

// refusedBunches reports whether operations that came late, and so in bunches, explain the
// errors that a probe failed by: a system may refuse those.
func (l *limits) refusedBunches(p *measure.Probe, intervals []measure.Interval) bool {
	if p.Limiting != "errors" || l.punctual(p) {
		return false
	}
	late, end := int64(0), intervals[len(intervals)-1].To.Seconds()
	for i := range intervals {
		if intervals[i].To.Seconds() > settling*end {
			late += intervals[i].Late(l.slow() / 2)
		}
	}
	return p.Values["errors"]*(1-settling)*end <= bunchErrors*float64(late)
}

// judgeLimits checks a probe for overload and against the limits.
func (l *limits) judgeLimits(p *measure.Probe, r *measure.Recorder, sure *certainty) {
	if l.exceeds(p, "errors") { // failures are unserved, too: that is not overload
		return
	}
	inFlight := measure.Curves(r.Intervals()).InFlight
	inFlight = inFlight[int(settling*float64(len(inFlight))):]
	served := p.Values[l.rate] / p.Rate
	switch gate, growth := stat.Drift(inFlight, mostGrowth); {
	case gate == stat.Drifting && growth*measure.Mean(inFlight) > max(1, leastQueued*p.Values[l.rate]*seconds(r)):
		p.Overload, p.Reason = true, fmt.Sprintf("operations in flight grew by %.0f %% and kept growing", 100*growth)
	case p.Rate > 0 && served < leastServed-slack(p.Rate, r):
		p.Overload, p.Reason = true, fmt.Sprintf("%.3g %% of the offered operations were served", 100*served)
	}
	if p.Overload {
		return
	}
	if sure != nil && sure.fails != "" {
		p.Reason, p.Limiting = sure.missed(), sure.fails
		return
	}
	for _, limit := range l.within {
		if _, known := p.Values[limit.Metric]; !known {
			if sure != nil && sure.passes {
				continue
			}
			p.Reason, p.Limiting = fmt.Sprintf("the data cannot bear %s", limit.Metric), limit.Metric
			return
		}
		if l.exceeds(p, limit.Metric) {
			return
		}
	}
	p.Passed = true
}

// failedItself reports whether a probe failed for other reasons than the lag of the generator:
// the limit is missed without it as well, taken twice because answers were read as late
// as operations were started; or more was offered than was served by a generator that had
// CPU time to spare.
func (l *limits) failedItself(p *measure.Probe) bool {
	if slow, known := l.served(p); known {
		return slow && p.Values[measure.GeneratorCPU] < busyWorker
	}
	if p.Overload {
		return (p.Values["abandoned"] == 0 || l.punctual(p)) && p.Values[measure.GeneratorCPU]+p.Values[measure.GeneratorWaited] < busyWorker
	}
	for _, limit := range l.within {
		if limit.Metric != p.Limiting {
			continue
		}
		if _, ok := measure.QuantileOf(limit.Metric); !ok { // late operations come in bunches, which a system may refuse
			return l.punctual(p) || limit.Metric == "errors"
		}
		_, quantile, found := strings.Cut(limit.Metric, ".")
		if !found || strings.HasPrefix(limit.Metric, "p") {
			quantile = limit.Metric
		}
		lag, known := p.Values["lag."+quantile]
		if gap, ok := p.Values["client.gap"]; ok { // a longer lag belongs to operations that waited for a free connection
			lag = min(lag, 2*gap)
		}
		return known && p.Values[limit.Metric]-2*lag > *limit.Max
	}
	return false
}

// served reports whether service times miss a limit: response times, which count from when operations were due, then do so whatever the generator does. It is
// known of generators that have no other figures of their lag.
func (l *limits) served(p *measure.Probe) (slow, known bool) {
	if _, others := p.Values["late"]; others {
		return false, false
	}
	for _, limit := range l.within {
		class, quantile := "", limit.Metric
		if at := strings.LastIndex(limit.Metric, ".p"); at >= 0 {
			class, quantile = limit.Metric[:at+1], limit.Metric[at+1:]
		}
		if _, ok := measure.QuantileOf(limit.Metric); ok {
			v, measured := p.Values[class+"service."+quantile]
			slow, known = slow || measured && v > *limit.Max, known || measured
		}
	}
	return slow, known
}

// strictest is the lowest limit of a response time.
func (l *limits) strictest() time.Duration {
	least := math.Inf(1)
	for _, limit := range l.within {
		if _, ok := measure.QuantileOf(limit.Metric); ok {
			least = min(least, *limit.Max)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return time.Duration(least * 1e9)
}

// punctual reports whether no thread of the generator was away for long: operations that were
// never started then waited for a free connection, which the system held.
func (l *limits) punctual(p *measure.Probe) bool {
	gap, known := p.Values["client.gap"]
	return known && 2*gap < l.slow().Seconds()
}

// keptWithAbandoned reports whether the limits on response times are met even if each
// operation that was never started counts as slower than all of them.
func (l *limits) keptWithAbandoned(p *measure.Probe, intervals []measure.Interval) bool {
	abandoned := p.Values["abandoned"]
	for _, limit := range l.within {
		q, ok := measure.QuantileOf(limit.Metric)
		if !ok {
			continue
		}
		slow, all := 0., 0.
		for i := int(settling * float64(len(intervals))); i < len(intervals); i++ {
			slow += float64(len(intervals[i].Slow(time.Duration(*limit.Max * 1e9))))
			for _, s := range intervals[i].Samples {
				all += float64(s.Operations)
			}
		}
		if slow/max(1, all)*(1-abandoned)+abandoned > 1-q {
			return false
		}
	}
	return true
}

// carriedInWindow reports whether the generator kept its schedule in the part of a probe that
// counts: it judges itself by the whole, in whose first instants connections are made.
func carriedInWindow(p *measure.Probe) bool {
	const mostLate, mostLost = .01, .005
	late, known := p.Values["late"]
	return known && late <= mostLate && p.Values["abandoned"] <= mostLost
}

// exceeds reports whether a probe did not keep the limit on a metric, and enters it.
func (l *limits) exceeds(p *measure.Probe, metric string) bool {
	for _, limit := range l.within {
		if v, known := p.Values[metric]; known && limit.Metric == metric && v > *limit.Max {
			p.Reason, p.Limiting = fmt.Sprintf("%s was %.4g, limit %.4g", metric, v, *limit.Max), metric
			return true
		}
	}
	return false
}

// slack is three standard errors of the share that is served when the operations
// arrive at random.
func slack(rate float64, r *measure.Recorder) float64 {
	return 3 / math.Sqrt(max(1, rate*seconds(r)))
}

// seconds is how long the part of a probe took that is judged.
func seconds(r *measure.Recorder) float64 {
	intervals := r.Intervals()
	return (1 - settling) * intervals[len(intervals)-1].To.Seconds()
}
