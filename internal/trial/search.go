package trial

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/trial/certify"
	"plimsoll/internal/trial/fault"
)

// search looks for the highest rate at which the limits are kept. In a study of one
// trial it is the whole of it. Where several trials come together the first of an
// arm finds about where the peak is, each offers one ladder of rates about that,
// which is one datum for its block, and later ones also confirm what the ladders
// before them say.
func (a *attempt) search(ctx context.Context) error {
	settings := a.peakSettings()
	if a.blocks == 1 && len(a.Plan.Arms) == 1 {
		answer, err := a.walk(ctx, peak.New(settings))
		a.found(answer)
		return err
	}
	centre := a.centre()
	if centre == 0 {
		answer, err := a.walk(ctx, peak.NewBracket(settings))
		if err != nil || answer.Word != peak.Bracketed {
			a.found(answer)
			return err
		}
		centre = answer.Centre
	}
	answer, err := a.walk(ctx, peak.NewLadder(settings, centre, a.Block))
	a.found(answer)
	if err != nil {
		return err
	}
	return a.confirm(ctx, settings)
}

// peakSettings are what the study asks of a search. The seed differs between the
// arms of a block, so that their ladders have orders of their own.
func (a *attempt) peakSettings() peak.Settings {
	asked := a.Study.Load.Peak
	s := peak.Settings{
		Start: asked.From, Highest: asked.To, Blocks: ladders, Confirmations: confirmations,
		Longest: (1 - settling) * a.longestProbe().Seconds(),
		Seconds: a.Study.Measure.Window.Seconds(), ConfirmSeconds: confirming * a.Study.Measure.Window.Seconds(),
		Seed: a.Plan.Seed + uint64(a.Trial.Arm)*0x9e3779b97f4a7c15,
	}
	for _, l := range asked.Within {
		if q, ok := measure.QuantileOf(l.Metric); ok {
			s.Limits = append(s.Limits, peak.Limit{Name: l.Metric, Share: q, Seconds: *l.Max})
		}
	}
	return s
}

const (
	ladders       = 3
	confirmations = 3
	confirming    = 3. // windows that a confirming probe takes
)

// walk performs the probes that a search asks for.
func (a *attempt) walk(ctx context.Context, s *peak.Search) (peak.Answer, error) {
	for {
		want, more := s.Next()
		if !more {
			return s.Answer(), nil
		}
		p, err := a.probe(ctx, want)
		if err != nil {
			return s.Answer(), err
		}
		s.Done(a.result(p))
	}
}

// result is a probe as the search is told of it.
func (a *attempt) result(p measure.Probe) peak.Result {
	r := peak.Result{
		Rate: p.Rate, Achieved: p.Values[a.kind.Rate], Pass: p.Passed, Reason: p.Limiting,
		GeneratorLimited: p.Invalid, Starved: p.Starved, Overloaded: p.Overload, From: p.Began,
		To: p.Began + p.To - p.From, // threads and connections start and end while no load is offered
	}
	if p.Invalid {
		r.Cause = p.Reason
	}
	for _, s := range p.Stalls {
		r.Stalls = append(r.Stalls, peak.Stall{At: s.At, Seconds: s.Seconds})
	}
	if p.Passed { // it was judged with what chance allows
		r.Achieved = p.Rate
	}
	for _, l := range a.peakSettings().Limits {
		v, known := p.Values[l.Name]
		if !known {
			v = math.NaN()
		}
		r.Quantiles = append(r.Quantiles, v)
	}
	return r
}

// centre is about where the peak of the arm is, by the trials before; 0 when none
// of them knows.
func (a *attempt) centre() float64 {
	var known []float64
	for _, r := range a.records {
		if r.Arm == a.Trial.Arm && r.Peak != nil && r.Peak.Estimate > 0 {
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
func (a *attempt) confirm(ctx context.Context, s peak.Settings) error {
	records := append(slices.Clone(a.records), *a.record)
	if n := len(s.Limits); n == 0 || ladderCount(records, a.Trial.Arm) < ladders {
		return nil
	}
	fit := peak.Estimate(plan.LadderPoints(records, a.Trial.Arm, s.Limits[0].Name), s.Limits[0].Seconds, s.Defaults().Level)
	if fit.Word != peak.Identified || !(fit.Low > 0) {
		return nil
	}
	rate := fit.Low
	for _, r := range records {
		for _, p := range r.Probes {
			if r.Arm == a.Trial.Arm && p.Phase == string(peak.Confirm) && !p.Passed && !p.Invalid {
				rate = min(rate, .99*p.Rate)
			}
		}
	}
	_, err := a.probe(ctx, peak.Probe{Rate: rate, Phase: peak.Confirm, Seconds: s.ConfirmSeconds})
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
func (a *attempt) found(answer peak.Answer) {
	known := func(v float64) float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	a.record.Peak = &measure.Peak{
		Word: string(answer.Word), Why: answer.Why, Limiting: answer.Limiting, Step: answer.Step,
		Estimate: known(answer.Estimate), Low: known(answer.Low), High: known(answer.High), Sustained: known(answer.Sustained),
		MaxPass: known(answer.MaxPass), MinFail: known(answer.MinFail),
	}
	if s := answer.Stall; s != nil {
		a.record.Peak.Stalling = &measure.Stalling{Every: s.Every, Seconds: s.Seconds, Periodic: s.Periodic}
	}
}

// judgeSearch makes the record of a trial that was a search: its value is the peak,
// and its certificate holds the rules that do not ask for one steady load.
func (a *attempt) judgeSearch(ctx context.Context) error {
	if len(a.record.Probes) == 0 || a.record.Peak == nil {
		return fault.Void("the search ended without an answer")
	}
	maps.Copy(a.files, measure.EncodeIntervals(a.intervals))
	a.record.Values = map[string]float64{}
	if p := a.record.Peak; p.Estimate > 0 {
		sought, _ := a.Study.Load.Sought()
		a.record.Values[sought.Name] = p.Estimate
	} else {
		a.record.Warnings = append(a.record.Warnings, fmt.Sprintf("the search found no number: %s %s", p.Word, p.Why))
	}
	if err := a.divide(); err != nil {
		return fault.Voids(err)
	}
	e := &certify.Evidence{Record: a.record, Simulated: a.sim != nil, Hosted: hosted(a.machines.Machine), Disks: a.spaces(ctx), ReadBack: a.readings(a.arm, a.record.Observed), Seldom: a.seldom}
	rules := searchRules
	if a.Study.Load.Growth != nil { // it goes on until the CPUs are full
		rules = slices.DeleteFunc(slices.Clone(rules), func(name string) bool { return name == "cpu pressure" })
	}
	checks, cause := certify.Judge(e, rules...)
	a.record.Checks, a.record.Void = slices.Concat(checks, a.settled, a.lost), cause
	a.blame()
	finite(a.record)
	return nil
}

// searchRules are the lines of the certificate that hold for many loads at once.
var searchRules = []string{"read back", "steal", "cpu pressure", "throttling", "time sync", "disk space"}

// span is how long all probes of the trial took so far.
func (a *attempt) span() time.Duration {
	if len(a.intervals) == 0 {
		return 0
	}
	return a.intervals[len(a.intervals)-1].To
}
