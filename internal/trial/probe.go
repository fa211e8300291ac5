package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/stat"
	"plimsoll/internal/trial/fault"
)

const (
	rateSetting = "rate"
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
func (a *attempt) probe(ctx context.Context, want peak.Probe) (measure.Probe, error) {
	p := measure.Probe{Phase: string(want.Phase), Rate: want.Rate}
	if err := a.refresh(ctx); err != nil {
		return p, err
	}
	a.reporter.say(PhaseMeasure, 0, fmt.Sprintf("%s at %.4g/s", want.Phase, want.Rate))
	settings := maps.Clone(a.load.settings)
	settings[rateSetting] = parameter.Rate(want.Rate).String()
	l, err := a.kind.New(settings)
	if err != nil {
		return p, fmt.Errorf("workload %s at %s: %w", a.kind.Name, settings[rateSetting], err)
	}
	err = a.perform(ctx, &p, prepared{l, settings}, a.probeLength(want))
	return p, err
}

// refresh has the data as new for a probe that is not the first, where the load begins
// each trial so: what the probes before left behind must not make the peak move.
func (a *attempt) refresh(ctx context.Context) error {
	if len(a.record.Probes) == 0 {
		return nil
	}
	a.reporter.say(PhasePrepare, 0, "")
	if err := a.prepare(ctx, a.crew); err != nil {
		return err
	}
	return a.settleService(ctx)
}

// perform offers the load of a probe and enters what came of it. Its error is
// trouble with the load itself.
func (a *attempt) perform(ctx context.Context, p *measure.Probe, l prepared, length time.Duration) error {
	p.From, p.Values = a.span().Seconds(), map[string]float64{}
	p.Began = a.now().Sub(a.record.Start).Seconds()
	before := a.census(ctx)
	stage := load.Stage{Length: length, Interval: max(length/200, 10*time.Millisecond), Seed: a.Seed + uint64(len(a.record.Probes))}
	recorder := measure.NewRecorder(nil)
	used := func() (float64, bool) { return 0, false }
	if a.needsHostCPU() {
		used = a.watchCPU(ctx, time.Duration(settling*float64(length)))
	}
	err := a.offer(ctx, l, stage, recorder)
	p.Ended = a.now().Sub(a.record.Start).Seconds()
	busy, known := used()
	intervals := recorder.Intervals()
	if ctx.Err() != nil || len(intervals) == 0 {
		return err
	}
	end := intervals[len(intervals)-1].To
	summary, summed := measure.Summarise(intervals, measure.Window{Cut: settling * end.Seconds(), End: end.Seconds()}, a.kind.Rate)
	if summed != nil {
		return summed
	}
	p.Values = summary.Values
	maps.Copy(p.Values, recorder.Values())
	maps.Copy(a.record.Observed, recorder.Observed())
	if known {
		p.Values[measure.HostCPU().Name] = busy
	}
	p.Stalls = a.stalls(p, intervals)
	a.judgeProbe(p, recorder, err)
	if p.Invalid {
		a.explainVoid(p, before, a.census(ctx))
	}
	a.keep(intervals)
	p.To = a.span().Seconds()
	a.record.Probes = append(a.record.Probes, *p)
	if failed := measure.DataFailures(recorder.Checks()); len(failed) > 0 {
		a.lost = append(a.lost, failed...)
		return fault.Void("%s", dataFailed(failed[0]))
	}
	return nil
}

// probeLength is long enough for the quantile that is judged, and no longer than a
// trial may be.
func (a *attempt) probeLength(want peak.Probe) time.Duration {
	need := max(want.Seconds, probeBatches*perBatch/(1-deepest(a.limits()))/want.Rate) / (1 - settling)
	return min(time.Duration(need*1e9), a.longestProbe())
}

// longestProbe is as long as a trial may be, and leaves room for a confirmation.
func (a *attempt) longestProbe() time.Duration {
	m := a.Study.Measure
	return max(m.Longest, time.Duration(confirming/(1-settling)*float64(m.Window)))
}

// judgeProbe says whether a probe passed: what the system could not keep up with is
// overload, and the rest is held against the limits. A probe that the generator was late
// with counts where it kept its limits all the same: response times count from when
// operations were due, its own lag included.
func (a *attempt) judgeProbe(p *measure.Probe, r *measure.Recorder, failed error) {
	if failed := measure.DataFailures(r.Checks()); len(failed) > 0 {
		p.Reason = dataFailed(failed[0])
		return
	}
	// A host that is full leaves nothing for a generator on it: that is an answer.
	if a.exceeds(p, measure.HostCPU().Name) {
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
	a.judgeLimits(p, r)
	switch bunches := (late != "" || p.Values[measure.GeneratorWaited] > littleWaited) && a.refusedBunches(p, r.Intervals()); {
	case bunches && late == "":
		late = "the generator came late for a while, and as many operations failed as were started late, all at once"
	case bunches:
	case late == "" || carriedInWindow(p) || p.Passed && a.keptWithAbandoned(p, r.Intervals()) || !p.Passed && a.failedItself(p):
		return
	}
	p.Passed, p.Overload, p.Limiting = false, false, ""
	p.Invalid, p.Reason = true, late
}

// refusedBunches says that operations which came late, and so in bunches, explain the
// errors that a probe failed by: a system may refuse those.
func (a *attempt) refusedBunches(p *measure.Probe, intervals []measure.Interval) bool {
	if p.Limiting != "errors" || a.punctual(p) {
		return false
	}
	late, end := int64(0), intervals[len(intervals)-1].To.Seconds()
	for i := range intervals {
		if intervals[i].To.Seconds() > settling*end {
			late += intervals[i].Late(a.slow() / 2)
		}
	}
	return p.Values["errors"]*(1-settling)*end <= bunchErrors*float64(late)
}

// judgeLimits holds a probe against overload and the limits.
func (a *attempt) judgeLimits(p *measure.Probe, r *measure.Recorder) {
	if a.exceeds(p, "errors") { // what fails is not served either: that is no overload
		return
	}
	inFlight := measure.Curves(r.Intervals()).InFlight
	inFlight = inFlight[int(settling*float64(len(inFlight))):]
	served := p.Values[a.kind.Rate] / p.Rate
	switch gate, growth := stat.Drift(inFlight, mostGrowth); {
	case gate == stat.Drifting && growth*mean(inFlight) > max(1, leastQueued*p.Values[a.kind.Rate]*seconds(r)):
		p.Overload, p.Reason = true, fmt.Sprintf("the operations in flight grew by %.0f %% and went on growing", 100*growth)
	case p.Rate > 0 && served < leastServed-slack(p.Rate, r):
		p.Overload, p.Reason = true, fmt.Sprintf("%.3g %% of the offered operations were served", 100*served)
	}
	if p.Overload {
		return
	}
	for _, l := range a.limits() {
		if _, known := p.Values[l.Metric]; !known {
			p.Reason, p.Limiting = fmt.Sprintf("the data cannot bear %s", l.Metric), l.Metric
			return
		}
		if a.exceeds(p, l.Metric) {
			return
		}
	}
	p.Passed = true
}

// failedItself says that the lag of the generator does not explain why a probe failed:
// the limit is missed without it as well, taken twice because answers were read as late
// as operations were started; or more was offered than was served by a generator that had
// CPU time to spare.
func (a *attempt) failedItself(p *measure.Probe) bool {
	if p.Overload {
		return (p.Values["abandoned"] == 0 || a.punctual(p)) && p.Values[measure.GeneratorCPU]+p.Values[measure.GeneratorWaited] < busyWorker
	}
	for _, l := range a.limits() {
		if l.Metric != p.Limiting {
			continue
		}
		if _, ok := measure.QuantileOf(l.Metric); !ok { // late operations come in bunches, which a system may refuse
			return a.punctual(p) || l.Metric == "errors"
		}
		_, quantile, found := strings.Cut(l.Metric, ".")
		if !found || strings.HasPrefix(l.Metric, "p") {
			quantile = l.Metric
		}
		lag, known := p.Values["lag."+quantile]
		if gap, ok := p.Values["client.gap"]; ok { // a longer lag is that of operations that waited for a free connection
			lag = min(lag, 2*gap)
		}
		return known && p.Values[l.Metric]-2*lag > *l.Max
	}
	return false
}

// punctual says that no thread of the generator was away for long: operations that were
// never started then waited for a free connection, which the system held.
func (a *attempt) punctual(p *measure.Probe) bool {
	gap, known := p.Values["client.gap"]
	return known && 2*gap < a.slow().Seconds()
}

// keptWithAbandoned says that the limits on response times are kept even if each
// operation that was never started counts as slower than all of them.
func (a *attempt) keptWithAbandoned(p *measure.Probe, intervals []measure.Interval) bool {
	abandoned := p.Values["abandoned"]
	for _, l := range a.limits() {
		q, ok := measure.QuantileOf(l.Metric)
		if !ok {
			continue
		}
		slow, all := 0., 0.
		for i := int(settling * float64(len(intervals))); i < len(intervals); i++ {
			slow += float64(len(intervals[i].Slow(time.Duration(*l.Max * 1e9))))
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

// carriedInWindow says that the generator kept its schedule in the part of a probe that
// counts: it judges itself by the whole, in whose first instants connections are made.
func carriedInWindow(p *measure.Probe) bool {
	const mostLate, mostLost = .01, .005
	late, known := p.Values["late"]
	return known && late <= mostLate && p.Values["abandoned"] <= mostLost
}

// exceeds says whether a probe did not keep the limit on a metric, and enters it.
func (a *attempt) exceeds(p *measure.Probe, metric string) bool {
	for _, l := range a.limits() {
		if v, known := p.Values[metric]; known && l.Metric == metric && v > *l.Max {
			p.Reason, p.Limiting = fmt.Sprintf("%s was %.4g, limit %.4g", metric, v, *l.Max), metric
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

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / max(1, float64(len(values)))
}

// keep appends the intervals of a probe to those of the trial.
func (a *attempt) keep(intervals []measure.Interval) {
	from := a.span()
	for _, in := range intervals {
		in.From, in.To = in.From+from, in.To+from
		a.intervals = append(a.intervals, in)
	}
}
