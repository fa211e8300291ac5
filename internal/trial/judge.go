package trial

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/parts"
	"plimsoll/internal/trial/window"
)

// judge sums up the window and makes the certificate.
func (a *attempt) judge(ctx context.Context) error {
	if parts.Searches(a.study) {
		return a.judgeSearch(ctx)
	}
	intervals := a.recorder.Intervals()
	if len(intervals) == 0 {
		return fault.Void("the load ended without measuring anything")
	}
	summary, err := measure.Summarise(intervals, a.record.Window, a.kind.Rate)
	if err != nil {
		return fault.Voids(err)
	}
	a.files[measure.LatencyFile("")] = measure.EncodeHistograms(summary.Log(), a.record.Window)
	a.record.Values, a.record.Counts, a.record.Faults = summary.Values, summary.Counts, summary.Faults
	worker := a.recorder.Values()
	maps.Copy(a.record.Values, worker)
	if a.session.sim == nil {
		if err := a.parts.Divide(a.files); err != nil {
			return fault.Voids(err)
		}
		a.session.services.Derive(a.record)
	}
	e := &certify.Evidence{
		Record: a.record, Demand: tiling{a}.demand(intervals), Operation: a.kind.Rate, Steady: a.watch.Conclude(intervals), Drift: window.DriftLimit(a.study), Worker: worker,
		Simulated: a.session.sim != nil, Hosted: hosted(a.session.machines.Machine), Disks: a.session.spaces(ctx), Failed: failedIn(intervals), Limited: a.crew.Lead().Group.LimitsErrors(), Intervals: intervals, Seldom: a.parts.Seldom,
		ReadBack: a.session.readings(a.arm, a.record.Observed),
		Ended: certify.Ending{
			Enough: a.watch.Answer.Enough, Ran: a.parts.Ran(),
			Length: a.study.Measure.Longest, Step: a.study.Measure.Interval,
		},
	}
	checks, cause := certify.Judge(e)
	if err := (tiling{a}).judge(); err != nil {
		return err
	}
	unmetered := metering{a}.enter()
	a.record.Checks = slices.Concat(checks, a.settled, a.recorder.Checks(), a.parts.Lost)
	for _, c := range a.recorder.Checks() {
		if c.State == measure.Fail && cause == "" {
			cause = c.Name + ": " + c.Detail
		}
	}
	for _, c := range a.record.Checks {
		if c.State == measure.Unknown && (c.Name == "drift" || c.Name == "warm-up") {
			a.record.Warnings = append(a.record.Warnings, c.Name+": "+c.Detail)
		}
	}
	a.record.Void = cmp.Or(a.parts.Deciding(), certify.Reasoned(cause, a.recorder.Checks()), unmetered)
	a.blame()
	if a.record.Window.Steady == measure.Drifting {
		// Without a steady state there is no point estimate.
		a.record.Values = nil
	}
	finite(a.record)
	return nil
}

// blame has a failed check of data come before any other cause for which a trial is void:
// noise must not hide it.
func (a *attempt) blame() {
	if failed := measure.DataFailures(a.record.Checks); len(failed) > 0 {
		a.record.Void = certify.DataFailed(failed[0])
	}
}

// failedIn counts failed operations, those of the warm-up included: a system
// that fails is not measured well by leaving that out.
func failedIn(intervals []measure.Interval) (failed int64) {
	for _, in := range intervals {
		for _, s := range in.Samples {
			failed += s.Errors
		}
	}
	return failed
}

// finite refuses numbers that JSON cannot hold, which only a faulty workload or
// collector yields.
func finite(r *measure.Record) {
	for _, numbers := range []map[string]float64{r.Values, r.Counters} {
		for name, v := range numbers {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				delete(numbers, name)
				r.Warnings = append(r.Warnings, fmt.Sprintf("%s was %v and is left out", name, v))
			}
		}
	}
}

// readings compares the levels of an arm with those seen in effect, on the
// machine and by the workload. Texts of one value in two notations are equal.
func (s *session) readings(arm plan.Arm, seen map[string]string) []certify.Reading {
	var all []certify.Reading
	for _, f := range s.bench.Study.Factors {
		if f.Name == study.Label || f.Group != "" {
			continue
		}
		r := certify.Reading{Factor: f.FullName(), Want: arm.Levels[f.FullName()]}
		r.Seen, r.Known = seen[r.Factor]
		for _, field := range s.fieldsOf(f) {
			if field.Name != f.Parameter {
				continue
			}
			if c, err := field.Check(r.Seen); err == nil {
				r.Seen = c
			}
			if c, err := field.Check(r.Want); err == nil {
				r.Want = c
			}
		}
		r.Want = s.settings.Canonical(r.Factor, r.Want)
		all = append(all, r)
	}
	return all
}

// fieldsOf are the settings among which is the one that a factor varies.
func (s *session) fieldsOf(f study.Factor) []parameter.Field {
	if !f.OfService {
		return parameter.Fields(s.kind.Defaults)
	}
	kind, ok, err := s.services.Kind()
	if err != nil || !ok {
		return nil
	}
	return parameter.Fields(kind.Defaults)
}
