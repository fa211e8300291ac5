// Package search runs trials that offer many loads: the search for the highest rate, or the most units, at which
// limits are kept. Package plan/peak names the next rate; this one offers it and judges the answer.
package search

import (
	"context"
	"math"
	"slices"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/workload"
)

// Search is a trial that offers many loads, to find the highest rate, or the most servers, at
// which limits are kept.
type Search struct {
	Trial   around
	Say     func(note string)                     // how the search goes
	Seen    func(*measure.Recorder) (enough bool) // called after each interval of a probe; nil for none
	Now     func() time.Time                      // time of day, virtual where the platform is
	Study   *study.Study
	Plan    *plan.Plan
	At      plan.Trial
	Alone   bool // no other trial has a part in the answer
	Kind    workload.Kind
	Load    drive.Load // of the subject
	Record  *measure.Record
	Earlier []measure.Record // of the trials before
	Sources []collect.Source
	Host    collect.Env // of the generator; without a machine in virtual time
	// Tiles judges a probe of a growth that adds tiles by its window; nil for other searches. Its error ends the trial.
	Tiles     func(p *measure.Probe, w measure.Window) error
	limits    limits
	intervals []measure.Interval
	lost      []measure.Check
}

// around is the trial that a search is.
type around interface {
	// Offer runs one load.
	Offer(ctx context.Context, l drive.Load, stage load.Stage, out *measure.Recorder) error
	// Renew has the data as new, and the service at rest.
	Renew(ctx context.Context) error
	// Scaler is the service whose servers are added.
	Scaler() (service.Scaler, error)
	// Fill prepares servers that were added, and waits until they are at rest.
	Fill(ctx context.Context) error
}

// peak looks for the highest rate at which the limits are kept. In a study of one
// trial it is the whole of it. Where several trials come together the first of an
// arm finds about where the peak is, each offers one ladder of rates about that,
// which is one datum for its block, and later ones also confirm what the ladders
// before them say.
func (s *Search) peak(ctx context.Context) error {
	settings := s.peakSettings()
	if s.Alone {
		answer, err := s.walk(ctx, peak.New(settings))
		s.found(answer)
		return err
	}
	centre := s.centre()
	if centre == 0 {
		answer, err := s.walk(ctx, peak.NewBracket(settings))
		if err != nil || answer.Word != peak.Bracketed {
			s.found(answer)
			return err
		}
		centre = answer.Centre
	}
	answer, err := s.walk(ctx, peak.NewLadder(settings, centre, s.At.Block))
	s.found(answer)
	if err != nil {
		return err
	}
	return s.confirm(ctx, settings)
}

// peakSettings are what the study asks of a search. The seed differs between the
// arms of a block, so that their ladders have orders of their own.
func (s *Search) peakSettings() peak.Settings {
	asked := s.Study.Load.Peak
	out := peak.Settings{
		Start: asked.From, Highest: asked.To, Blocks: ladders, Confirmations: confirmations,
		Longest: (1 - settling) * longestProbe(s.Study).Seconds(),
		Seconds: s.Study.Measure.Window.Seconds(),
		Seed:    s.Plan.Seed + uint64(s.At.Arm)*0x9e3779b97f4a7c15,
	}
	for _, l := range asked.Within {
		if q, ok := measure.QuantileOf(l.Metric); ok {
			out.Limits = append(out.Limits, peak.Limit{Name: l.Metric, Share: q, Seconds: *l.Max})
		}
	}
	return out
}

const (
	ladders       = 3
	confirmations = 3
)

// walk performs the probes of a search.
func (s *Search) walk(ctx context.Context, of *peak.Search) (peak.Answer, error) {
	defer of.Close()
	for {
		want, more := of.Next()
		if !more {
			return of.Answer(), nil
		}
		p, err := s.probe(ctx, want)
		if err != nil {
			return of.Answer(), err
		}
		of.Done(s.result(p))
	}
}

// result is the result of a probe for the search.
func (s *Search) result(p measure.Probe) peak.Result {
	r := peak.Result{
		Rate: p.Rate, Achieved: p.Values[s.Kind.Rate], Pass: p.Passed, Reason: p.Limiting,
		GeneratorLimited: p.Invalid, Starved: p.Starved, Overloaded: p.Overload, From: p.Began,
		To: p.Began + p.To - p.From, // threads and connections start and end while no load is offered
	}
	if p.Invalid {
		r.Cause = p.Reason
	}
	for _, stall := range p.Stalls {
		r.Stalls = append(r.Stalls, peak.Stall{At: stall.At, Seconds: stall.Seconds})
	}
	if p.Passed { // the judgement allows for chance
		r.Achieved = p.Rate
	}
	for _, l := range s.peakSettings().Limits {
		v, known := p.Values[l.Name]
		if !known {
			v = math.NaN()
		}
		r.Quantiles = append(r.Quantiles, v)
	}
	return r
}

// centre is the approximate peak of the arm, by earlier trials; 0 without any.
func (s *Search) centre() float64 {
	var known []float64
	for _, r := range s.Earlier {
		if r.Arm == s.At.Arm && r.Peak != nil && r.Peak.Estimate > 0 {
			known = append(known, r.Peak.Estimate)
		}
	}
	if len(known) == 0 {
		return 0
	}
	slices.Sort(known)
	return known[len(known)/2]
}

// confirm offers, once three ladders of the arm are known, the lower end of what
// they say together, a hundredth lower for each time that it was not kept.
func (s *Search) confirm(ctx context.Context, of peak.Settings) error {
	records := append(slices.Clone(s.Earlier), *s.Record)
	if n := len(of.Limits); n == 0 || ladderCount(records, s.At.Arm) < ladders {
		return nil
	}
	fit := peak.Estimate(plan.LadderPoints(records, s.At.Arm, of.Limits[0].Name), of.Limits[0].Seconds, of.Defaults().Level)
	if fit.Word != peak.Identified || !(fit.Low > 0) {
		return nil
	}
	rate := fit.Low
	for _, r := range records {
		for _, p := range r.Probes {
			if r.Arm == s.At.Arm && p.Phase == string(peak.Confirm) && !p.Passed && !p.Invalid {
				rate = min(rate, .99*p.Rate)
			}
		}
	}
	_, err := s.probe(ctx, peak.Probe{Rate: rate, Phase: peak.Confirm, Seconds: of.Defaults().ConfirmSeconds})
	return err
}

func ladderCount(records []measure.Record, arm int) (n int) {
	for _, r := range records {
		if r.Arm == arm && r.Valid() && r.Peak != nil && r.Peak.Estimate > 0 {
			n++
		}
	}
	return n
}

// found enters the answer of a search in the record.
func (s *Search) found(answer peak.Answer) {
	known := func(v float64) float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	s.Record.Peak = &measure.Peak{
		Word: string(answer.Word), Why: answer.Why, Limiting: answer.Limiting, Step: answer.Step,
		Estimate: known(answer.Estimate), Low: known(answer.Low), High: known(answer.High), Sustained: known(answer.Sustained),
		MaxPass: known(answer.MaxPass), MinFail: known(answer.MinFail),
	}
	if stall := answer.Stall; stall != nil {
		s.Record.Peak.Stalling = &measure.Stalling{Every: stall.Every, Seconds: stall.Seconds, Periodic: stall.Periodic}
	}
}

// Run takes the search through its loads, and enters its answer in the record.
func (s *Search) Run(ctx context.Context) error {
	s.limits = limits{within: within(s.Study), rate: s.Kind.Rate}
	if s.Study.Load.Growth != nil {
		return s.grow(ctx)
	}
	return s.peak(ctx)
}

// within are the limits that each probe is held against.
func within(s *study.Study) []study.Limit {
	if g := s.Load.Growth; g != nil {
		return g.Within
	}
	return s.Load.Peak.Within
}

// Intervals are the intervals of all probes, in order.
func (s *Search) Intervals() []measure.Interval { return s.intervals }

// Lost are failed checks of data.
func (s *Search) Lost() []measure.Check { return s.lost }

// Span is how long all probes of the trial took so far.
func (s *Search) Span() time.Duration {
	if len(s.intervals) == 0 {
		return 0
	}
	return s.intervals[len(s.intervals)-1].To
}
