package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/growth"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/quantity"
	"plimsoll/internal/study"
)

// grow adds servers until one more does not keep the limits. A study of one trial
// measures every size several times; where several trials come together each climbs
// once, which is one datum for its block.
func (s *Search) grow(ctx context.Context) error {
	asked := s.Study.Load.Growth
	fleet, err := s.Trial.Scaler()
	if err != nil {
		return err
	}
	unit := cmp.Or(asked.Unit, "server")
	settings := growth.Settings{First: asked.From, Step: asked.Step, Most: asked.To, Seed: s.Plan.Seed, Level: s.Plan.Level}
	var g *growth.Growth
	if s.Alone {
		g = growth.New(settings)
	} else {
		g = growth.NewClimb(settings, int(s.centre()))
	}
	defer g.Close()
	servers := 0
	for {
		want, more := g.Next()
		if !more {
			s.carried(g.Answer())
			return nil
		}
		units := fmt.Sprintf("%d %s", want.Units, quantity.Plural(want.Units, unit))
		if err := fleet.Scale(ctx, want.Units); err != nil {
			return fmt.Errorf("have %s: %w", units, err)
		}
		if want.Units != servers { // those that were just started are empty, and not at rest
			if err := s.Trial.Fill(ctx); err != nil {
				return fmt.Errorf("%s: %w", units, err)
			}
		}
		servers = want.Units
		s.Say(units)
		p, err := s.probeSize(ctx, want)
		if err != nil {
			return err
		}
		g.Done(growth.Result{Metric: s.metricOf(&p), Pass: p.Passed, Reason: p.Reason, GeneratorLimited: p.Invalid})
	}
}

// probeSize offers the load of the study to each of a number of servers.
func (s *Search) probeSize(ctx context.Context, want growth.Size) (measure.Probe, error) {
	phase := "growth"
	if want.Fresh {
		phase = string(peak.Confirm)
	}
	each := s.Load.Load.Demand().Rate
	if s.Tiles != nil { // its members have rates of their own
		each = 0
	}
	p := measure.Probe{Phase: phase, Units: want.Units, Rate: each * float64(want.Units)}
	deepest := deepest(s.Study.Load.Growth.Within)
	// Half a percent of the operations of a small fleet are few.
	const beyond = 20
	need := s.Study.Measure.Window.Seconds()
	if p.Rate > 0 {
		need = max(need, beyond/(1-deepest)/p.Rate)
	}
	length := min(time.Duration(need/(1-settling)*1e9), s.Study.Measure.Longest)
	err := s.perform(ctx, &p, s.Load, length)
	return p, err
}

// metricOf is what a growth is to raise: the score of tiles, or the tiles themselves without one.
func (s *Search) metricOf(p *measure.Probe) float64 {
	if s.Tiles == nil {
		return p.Values[s.Kind.Rate]
	}
	if v, scored := p.Values[measure.Score]; scored {
		return v
	}
	return float64(p.Units)
}

// carried enters the answer of a growth in the record.
func (s *Search) carried(answer growth.Answer) {
	s.Record.Peak = &measure.Peak{
		Word: string(answer.Word), Why: answer.Why, Limiting: answer.Limiting, Estimate: float64(answer.Units),
	}
	for _, p := range s.Record.Probes {
		switch n := float64(p.Units); {
		case p.Invalid:
		case p.Passed:
			s.Record.Peak.MaxPass = math.Max(s.Record.Peak.MaxPass, n)
		case s.Record.Peak.MinFail == 0 || n < s.Record.Peak.MinFail:
			s.Record.Peak.MinFail = n
		}
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
