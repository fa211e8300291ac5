package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/growth"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/quantity"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
)

// grow adds units until one more does not keep the limits. A study of one trial
// measures every size several times; where several trials come together each climbs
// once, which is one datum for its block.
func (s *Search) grow(ctx context.Context) error {
	asked := s.Study.Load.Growth
	have, err := s.scaling()
	if err != nil {
		return err
	}
	settings := growth.Settings{First: asked.From, Step: asked.Step, Most: asked.To, Seed: s.Plan.Seed, Level: s.Plan.Level}
	var g *growth.Growth
	if s.Alone {
		g = growth.New(settings)
	} else {
		g = growth.NewClimb(settings, int(s.centre()))
	}
	defer g.Close()
	for {
		want, more := g.Next()
		if !more {
			s.carried(g.Answer())
			return nil
		}
		units := fmt.Sprintf("%d %s", want.Units, quantity.Plural(want.Units, cmp.Or(asked.Unit, "server")))
		of, err := have(ctx, want.Units)
		if err != nil {
			return fmt.Errorf("have %s: %w", units, err)
		}
		s.Say(units)
		p, err := s.probeSize(ctx, want, of)
		if err != nil {
			return err
		}
		g.Done(growth.Result{Metric: raised(&p, s.Kind.Rate), Pass: p.Passed, Reason: p.Reason, GeneratorLimited: p.Invalid})
	}
}

// scaling returns the function that has a number of units, and the load for them: servers of the service, each with the load of
// the study, or units of the load itself.
func (s *Search) scaling() (have func(ctx context.Context, units int) (drive.Load, error), err error) {
	if g := s.Study.Load.Growth; g.Unit != "" && !g.Tiles() {
		return func(_ context.Context, units int) (drive.Load, error) {
			settings := maps.Clone(s.Load.Settings)
			settings[s.Kind.Unit.Setting] = strconv.Itoa(units)
			l, err := s.Kind.New(settings)
			return drive.Load{Load: l, Settings: settings}, err
		}, nil
	}
	fleet, err := s.Trial.Scaler()
	if err != nil {
		return nil, err
	}
	servers := 0
	return func(ctx context.Context, units int) (drive.Load, error) {
		if err := fleet.Scale(ctx, units); err != nil {
			return s.Load, err
		}
		was := servers
		if servers = units; units == was {
			return s.Load, nil
		}
		return s.Load, s.Trial.Fill(ctx) // those that were just started are empty, and not at rest
	}, nil
}

// probeSize offers the load of a number of units.
func (s *Search) probeSize(ctx context.Context, want growth.Size, of drive.Load) (measure.Probe, error) {
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
	err := s.perform(ctx, &p, of, extent{length: length})
	return p, err
}

// raised is what a growth is to raise: the score of tiles, or the tiles themselves without one, and otherwise the rate.
func raised(p *measure.Probe, rate string) float64 {
	if v, scored := p.Values[measure.Score]; scored {
		return v
	}
	if _, tiled := p.Values[measure.TilesMetric().Name]; tiled {
		return float64(p.Units)
	}
	return p.Values[rate]
}

// carried enters the answer of a growth in the record.
func (s *Search) carried(answer growth.Answer) {
	s.Record.Peak = &measure.Peak{
		Word: string(answer.Word), Why: answer.Why + s.scarce(), Limiting: answer.Limiting, Estimate: float64(answer.Units),
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

// scarce says what the processes of the load waited for most in the last probe that missed a limit, where the load tells.
func (s *Search) scarce() string {
	for _, p := range slices.Backward(s.Record.Probes) {
		if p.Passed || p.Invalid {
			continue
		}
		most, of := 0., ""
		for name, v := range p.Values {
			if resource, ok := strings.CutPrefix(name, "waited."); ok && (v > most || v == most && resource < of) {
				most, of = v, resource
			}
		}
		if of == "" {
			return ""
		}
		return fmt.Sprintf("; processes waited for %s %.0f %% of the time", map[string]string{"cpu": "a CPU", "memory": "memory", "io": "I/O"}[of], 100*most)
	}
	return ""
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
