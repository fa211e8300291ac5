// Package intervene tests whether a counter that changed along with an effect caused it. It
// derives a study of 2 x 2 arms, the factor of the effect by a factor that holds the counter,
// and judges its findings. It is pure: the lab runs the study, on fresh blocks with a new seed.
//
// The counter is the cause if the interaction of the two factors excludes no difference and
// the effect while the counter is held is equivalent to none, within the margin.
//
// Sources: Pearl (2009), Causality, section 4.5; equivalence, Schuirmann (1987).
package intervene

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// Level is the confidence level of the intervals of an intervention.
const Level = 0.95

// The fewest and the most blocks of an intervention.
const (
	LeastBlocks = 6
	MostBlocks  = 60
)

// mostRanked is the number of counters of an arm, the first of the ranking, that may be tested.
const mostRanked = 5

// power is the probability that the blocks decide, if the counter is the whole cause.
const power = 0.9

// Design is an intervention to be run.
type Design struct {
	Study    *study.Study
	Mediator Mediator
	Arm      int    // of the study, whose effect is tested
	Metric   string // headline of the effect
}

// Mediator is a counter with the factor that holds it.
type Mediator struct {
	Counter string
	Factor  factor.Factor
	Target  string
	Free    string // empty for the level in effect
	Pinned  string
}

// FullName is the name of the factor with its target.
func (m Mediator) FullName() string {
	return study.Factor{Name: m.Factor.Name, Target: m.Target}.FullName()
}

// Of designs the intervention for the first counter of the ranking that a factor can hold and
// that was not tested. fit
// reports whether a mediator applies on the machine, and returns the level in effect for an
// empty Free. Without a design, reason says why.
func Of(f *finding.Findings, s *study.Study, factors []factor.Factor, fit func(Mediator) (Mediator, bool)) (d *Design, reason string) {
	if s.Load.Peak != nil || s.Load.Growth != nil {
		return nil, "a search for a peak has no fixed load"
	}
	reason = "no other counter changed along with a decided effect"
	rank := map[int]int{} // by arm
	for _, moved := range f.Moved {
		if rank[moved.Arm]++; moved.Effect || moved.Result != "" || rank[moved.Arm] > mostRanked {
			continue
		}
		varied, ok := variedIn(f, s, moved.Arm)
		if !ok {
			reason = "arms that differ from the baseline in several factors are not tested"
			continue
		}
		reason = "no factor holds " + moved.Metric
		m, ok := mediatorOf(moved.Metric, s, factors, fit)
		if !ok {
			continue
		}
		effect := decided(f, moved.Arm)
		return &Design{Study: derive(s, varied, m, blocks(effect, s.Margin)), Mediator: m, Arm: moved.Arm, Metric: effect.Metric.Name}, ""
	}
	return nil, reason
}

// variedIn is the only factor in which an arm differs from the baseline, with its two levels.
func variedIn(f *finding.Findings, s *study.Study, arm int) (study.Factor, bool) {
	var varied []study.Factor
	for _, one := range s.Factors {
		from, to := f.Arms[0].Levels[one.FullName()], f.Arms[arm].Levels[one.FullName()]
		if from != to {
			one.Levels = []string{from, to}
			varied = append(varied, one)
		}
	}
	if len(varied) != 1 {
		return study.Factor{}, false
	}
	return varied[0], true
}

// mediatorOf is the first factor that can hold a counter and that the study does not vary. A
// level that the study fixes is the one that lets the counter change.
func mediatorOf(counter string, s *study.Study, factors []factor.Factor, fit func(Mediator) (Mediator, bool)) (Mediator, bool) {
	for _, one := range factors {
		for _, hold := range one.Holds {
			target, ok := hold.Holding(counter)
			if !ok || slices.ContainsFunc(s.Factors, func(f study.Factor) bool { return slices.Contains(hold.Without, f.Name) }) {
				continue
			}
			m := Mediator{Counter: counter, Factor: one, Target: target, Free: hold.Free, Pinned: hold.Pinned}
			if i := slices.IndexFunc(s.Factors, func(f study.Factor) bool { return f.FullName() == m.FullName() }); i >= 0 {
				if len(s.Factors[i].Levels) > 1 {
					continue
				}
				m.Free = s.Factors[i].Levels[0]
			}
			if m, ok = fit(m); ok && m.Free != m.Pinned {
				return m, true
			}
		}
	}
	return Mediator{}, false
}

// decided is the first decided headline of an arm.
func decided(f *finding.Findings, arm int) *finding.Comparison {
	i := slices.IndexFunc(f.Headlines, func(c finding.Comparison) bool { return c.Arm == arm && c.Verdict.Differs() })
	return &f.Headlines[i] // a ranking has only arms with one
}

// blocks is the number of blocks that decide with the given power, if the counter is the cause
// of the whole effect: the effect while it is held must be equivalent to none within the margin, and the
// interaction, of which the variance is twice that, must exclude no difference.
func blocks(effect *finding.Comparison, margin float64) int {
	sd := effect.SE * math.Sqrt(float64(effect.Blocks)) * caution(effect.DF)
	within, size := math.Log1p(margin), math.Abs(math.Log(effect.Ratio))
	n := LeastBlocks
	for ; n < MostBlocks; n++ {
		df := float64(n - 1)
		se := sd / math.Sqrt(float64(n))
		t, beta := stat.TQuantile(0.5+Level/2, df), stat.TQuantile(power, df)
		if (t+stat.TQuantile(0.5+power/2, df))*se <= within && (t+beta)*math.Sqrt2*se <= size {
			break
		}
	}
	return n
}

// caution is the factor from a standard deviation to its upper confidence limit of 80 %.
func caution(df float64) float64 {
	if !(df > 0) {
		return 1
	}
	return math.Sqrt(df / stat.ChiSquareQuantile(0.2, df))
}

// derive is the study of the intervention. Other factors stay at the baseline's level.
func derive(s *study.Study, varied study.Factor, m Mediator, n int) *study.Study {
	p := *s
	p.Workload.Settings = maps.Clone(s.Workload.Settings)
	p.Factors = nil
	for _, f := range s.Factors {
		if f.FullName() == varied.FullName() || f.FullName() == m.FullName() {
			continue
		}
		f.Levels = f.Levels[:1]
		p.Factors = append(p.Factors, f)
	}
	pin := study.Factor{Name: m.Factor.Name, Target: m.Target, Levels: []string{m.Free, m.Pinned}, Restart: m.Factor.Restart}
	p.Factors = append(p.Factors, varied, pin)
	p.Measure.Blocks, p.Measure.Precision, p.Measure.Intervene = n, 0, false
	p.Goal, p.Limits, p.Published, p.Seed = nil, nil, nil, nil
	p.Question = fmt.Sprintf("Does the effect of %s remain while %s is held by %s=%s?", varied.FullName(), m.Counter, m.FullName(), m.Pinned)
	return &p
}

// Seed is the seed of the fresh blocks of an intervention, from 1, derived from that of the
// study. Source: SplitMix64, Steele, Lea & Flood (2014).
func Seed(seed, number uint64) uint64 {
	v := seed + number*0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return (v ^ v>>31) & math.MaxUint32 // short enough to type
}
