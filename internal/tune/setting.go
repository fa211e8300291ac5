package tune

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// present is the study with each factor at its first level: parameters of the workload become
// settings, settings of the machine factors with one level.
func present(s *study.Study) *study.Study {
	p := *s
	p.Workload.Settings = maps.Clone(s.Workload.Settings)
	p.Factors = nil
	for _, f := range s.Factors {
		fix(&p, f, f.Levels[0])
	}
	p.Headline = []string{s.Goal.Metric}
	p.Measure.Precision = 0
	p.Measure.Blocks = 0
	return &p
}

// fix sets a factor to one level.
func fix(s *study.Study, f study.Factor, level string) {
	if f.Parameter != "" {
		if s.Workload.Settings == nil {
			s.Workload.Settings = map[string]string{}
		}
		s.Workload.Settings[f.Parameter] = level
		return
	}
	f.Levels = []string{level}
	at := slices.IndexFunc(s.Factors, func(other study.Factor) bool { return other.FullName() == f.FullName() })
	if at >= 0 {
		s.Factors[at] = f
		return
	}
	s.Factors = append(s.Factors, f)
}

// settled is the study with the change applied.
func settled(s *study.Study, c finding.Change) *study.Study {
	p := *s
	p.Workload.Settings = maps.Clone(s.Workload.Settings)
	p.Factors = slices.Clone(s.Factors)
	fix(&p, factorOf(s, c), c.To)
	return &p
}

// trying is the study that compares the current setting with the change.
func (l *loop) trying(c finding.Change) *study.Study {
	p := settled(l.base, c)
	f := factorOf(l.base, c)
	f.Levels = []string{c.From, c.To}
	at := slices.IndexFunc(p.Factors, func(other study.Factor) bool { return other.FullName() == f.FullName() })
	if at >= 0 {
		p.Factors[at] = f
	} else {
		p.Factors = append(p.Factors, f)
	}
	delete(p.Workload.Settings, f.Parameter)
	p.Measure.Looks = slices.Clone(l.Looks)
	if len(l.Looks) == 1 {
		p.Measure.Blocks = l.Looks[0]
	}
	p.Question = "Does " + c.Factor + " " + c.To + " instead of " + c.From + " help to " + goalText(l.Study.Goal) + "?"
	return p
}

// factorOf is the factor of a change: a parameter of the workload, or a setting of the
// machine.
func factorOf(s *study.Study, c finding.Change) study.Factor {
	for _, f := range s.Factors {
		if f.FullName() == c.Factor {
			return f
		}
	}
	if p, found := strings.CutPrefix(c.Factor, s.Workload.Kind+"."); found {
		return study.Factor{Name: c.Factor, Parameter: p}
	}
	name, target, _ := strings.Cut(c.Factor, ":")
	return study.Factor{Name: name, Target: target}
}

// goalText is the goal in words: "maximise iops", "minimise p99 with iops >= 1000".
func goalText(g *study.Goal) string {
	text := "maximise " + g.Metric
	if g.Direction == measure.LowerIsBetter {
		text = "minimise " + g.Metric
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i, floor := range g.Floor {
		text += []string{" with ", " and "}[min(i, 1)] + floor.Metric
		if floor.Min != nil {
			text += " >= " + number(*floor.Min)
		}
		if floor.Max != nil {
			text += " <= " + number(*floor.Max)
		}
	}
	return text
}
