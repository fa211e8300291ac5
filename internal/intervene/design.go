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
	"strings"

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

// leastPairs is the number of blocks of a study from which its paired differences have a
// standard deviation of their own.
const leastPairs = 4

// power is the probability that the blocks pass each of the two tests, if the counter is the
// whole cause and the standard deviation is at its upper confidence limit of the level surely.
const (
	power  = 0.95
	surely = 0.9
)

// Design is an intervention to be run.
type Design struct {
	Study    *study.Study
	Mediator Mediator
	Arm      int // of the study, whose effect is tested
	Effect   *finding.Comparison
}

// Mediator is a counter with the factor that holds it.
type Mediator struct {
	Counter string
	Factor  factor.Factor
	Hold    factor.Hold
	Target  string
	Free    string // empty for the level in effect
	Pinned  string
}

// FullName is the name of the factor with its target.
func (m Mediator) FullName() string {
	return study.Factor{Name: m.Factor.Name, Target: m.Target}.FullName()
}

// Fit completes the levels of a mediator on the machine. It returns an error if the mediator
// does not apply there.
type Fit func(Mediator) (Mediator, error)

// Of designs the intervention for the first counter of the ranking that a factor can hold and
// that was not tested. Without a design, it returns the reason.
func Of(f *finding.Findings, s *study.Study, factors []factor.Factor, fit Fit) (*Design, *finding.Untested) {
	if s.Load.Peak != nil || s.Load.Growth != nil {
		return nil, &finding.Untested{Reason: "a search for a peak has no fixed load"}
	}
	c := candidates{study: s, factors: factors, fit: fit}
	none := unranked(f)
	rank := map[int]int{} // by arm
	for _, moved := range f.Moved {
		if moved.Effect {
			continue
		}
		if rank[moved.Arm]++; moved.Result != "" {
			continue
		}
		varied, ok := variedIn(f, s, moved.Arm)
		switch {
		case !ok:
			none.Add(moved, f.Label(moved.Arm)+" differs from the baseline in several factors")
			continue
		case rank[moved.Arm] > mostRanked:
			none.More++
			continue
		}
		m, reason := c.mediator(moved.Metric)
		if reason != "" {
			none.Add(moved, reason)
			continue
		}
		effect := decided(f, moved.Arm)
		return &Design{Study: derive(s, varied, m, blocks(f, effect, s.Margin)), Mediator: m, Arm: moved.Arm, Effect: effect}, nil
	}
	if len(none.Counters) > 0 {
		none.Reason = "no factor can hold a counter that changed along with the effect"
	}
	return nil, none
}

// unranked is the reason for a ranking without a counter that was not tested.
func unranked(f *finding.Findings) *finding.Untested {
	if !slices.ContainsFunc(f.Headlines, func(c finding.Comparison) bool { return c.Verdict.Differs() }) {
		return &finding.Untested{Reason: "no effect is decided"}
	}
	none := &finding.Untested{Reason: "no other counter changed along with a decided effect"}
	for i := range f.Exploratory {
		if c := &f.Exploratory[i]; c.Least > 0 {
			none.Undecided++
			none.Blocks, none.Least = max(none.Blocks, c.Blocks), c.Least
		}
	}
	return none
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

// candidates are the factors that may hold a counter of a study.
type candidates struct {
	study   *study.Study
	factors []factor.Factor
	fit     Fit
}

// mediator is the first factor that can hold a counter, or the reasons why none can.
func (c candidates) mediator(counter string) (Mediator, string) {
	var reasons []string
	for _, one := range c.factors {
		for _, hold := range one.Holds {
			target, ok := hold.Holding(counter)
			if !ok {
				continue
			}
			m, reason := c.fitting(Mediator{Counter: counter, Factor: one, Hold: hold, Target: target, Free: hold.Free})
			if reason == "" {
				return m, ""
			}
			reasons = append(reasons, reason)
		}
	}
	if len(reasons) == 0 {
		return Mediator{}, "no factor holds it"
	}
	return Mediator{}, strings.Join(reasons, "; ")
}

// fitting completes a mediator, or returns why the study or the machine excludes it. A level that
// the study fixes is the one that lets the counter change.
func (c candidates) fitting(m Mediator) (Mediator, string) {
	for _, f := range c.study.Factors {
		switch {
		case slices.Contains(m.Hold.Without, f.Name):
			return m, fmt.Sprintf("%s would hold it, and excludes %s", m.FullName(), f.FullName())
		case f.FullName() == m.FullName() && len(f.Levels) > 1:
			return m, fmt.Sprintf("%s would hold it, and the study varies that", m.FullName())
		case f.FullName() == m.FullName():
			m.Free = f.Levels[0]
		}
	}
	if m.Hold.Alone && c.study.Service != nil {
		return m, fmt.Sprintf("%s holds it only in a study without a service", m.FullName())
	}
	m, err := c.fit(m)
	switch {
	case err != nil:
		return m, fmt.Sprintf("%s would hold it, and does not apply: %v", m.FullName(), err)
	case m.Free == m.Pinned:
		return m, fmt.Sprintf("%s=%s, which holds it, is in effect already", m.FullName(), m.Pinned)
	}
	return m, ""
}

// decided is the first decided headline of an arm.
func decided(f *finding.Findings, arm int) *finding.Comparison {
	i := slices.IndexFunc(f.Headlines, func(c finding.Comparison) bool { return c.Arm == arm && c.Verdict.Differs() })
	return &f.Headlines[i] // a ranking has only arms with one
}

// blocks is the number of blocks that decide with the given power, if the counter is the cause
// of the whole effect: the effect while it is held must be equivalent to none within the margin, and the
// interaction, of which the variance is twice that, must exclude no difference. The standard
// deviation is that of the paired differences of the study, as the intervention has such.
func blocks(f *finding.Findings, effect *finding.Comparison, margin float64) int {
	sd, df := effect.SE*math.Sqrt(float64(effect.Blocks)), effect.DF
	if cells, ok := cellsOf(f, effect.Metric.Name, 0, effect.Arm); ok && len(cells[0]) >= leastPairs {
		p := stat.PairedT(minus(cells[1], cells[0]), Level)
		sd, df = p.SD, float64(p.N-1)
	}
	sd *= caution(df)
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

// caution is the factor from a standard deviation to its upper confidence limit.
func caution(df float64) float64 {
	if !(df > 0) {
		return 1
	}
	return math.Sqrt(df / stat.ChiSquareQuantile(1-surely, df))
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
