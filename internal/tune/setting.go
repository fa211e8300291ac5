package tune

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// present is the study with each factor at its first level: parameters of the workload become
// settings, settings of the machine factors with one level.
func present(s *study.Study) *study.Study {
	p := *s
	p.Workload.Settings = maps.Clone(s.Workload.Settings)
	p.Factors = nil
	p.Service, p.Combinations = owned(s.Service), nil
	for _, f := range s.Factors {
		fix(&p, f, f.Levels[0])
	}
	p.Headline = []string{s.Goal.Metric}
	p.Measure.Precision, p.Measure.Blocks, p.Measure.Intervene = 0, 0, false
	return &p
}

// fix sets a factor to one level.
func fix(s *study.Study, f study.Factor, level string) {
	if at := settingsOf(s, f); at != nil {
		if *at == nil {
			*at = parameter.Settings{}
		}
		(*at)[f.Parameter] = level
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

// settingsOf are the settings that hold the parameter of a factor; nil for a factor of the machine or of a group.
func settingsOf(s *study.Study, f study.Factor) *parameter.Settings {
	switch {
	case f.Parameter == "" || f.Group != "":
		return nil
	case f.OfService:
		return &s.Service.Settings
	}
	return &s.Workload.Settings
}

// owned is a copy of a service, whose settings can be changed.
func owned(u *study.Use) *study.Use {
	if u == nil {
		return nil
	}
	return &study.Use{Kind: u.Kind, Settings: maps.Clone(u.Settings)}
}

// copied is a copy of a study, whose settings and factors can be changed.
func copied(s *study.Study) *study.Study {
	p := *s
	p.Workload.Settings = maps.Clone(s.Workload.Settings)
	p.Service = owned(s.Service)
	p.Factors = slices.Clone(s.Factors)
	return &p
}

// settled is the study with the present settings and the change.
func (l *loop) settled(c finding.Change) *study.Study {
	p := copied(l.base)
	fix(p, l.factor(c.Factor), c.To)
	return p
}

// vary makes a factor of a setting, with these levels.
func vary(s *study.Study, f study.Factor, levels ...string) {
	if at := settingsOf(s, f); at != nil {
		delete(*at, f.Parameter)
	}
	f.Levels = levels
	at := slices.IndexFunc(s.Factors, func(other study.Factor) bool { return other.FullName() == f.FullName() })
	if at >= 0 {
		s.Factors[at] = f
		return
	}
	s.Factors = append(s.Factors, f)
}

// trying is the study that compares the current setting with the change.
func (l *loop) trying(c finding.Change) *study.Study {
	p := copied(l.base)
	vary(p, l.factor(c.Factor), c.From, c.To)
	p.Measure.Looks = slices.Clone(l.Looks)
	if len(l.Looks) == 1 {
		p.Measure.Blocks = l.Looks[0]
	}
	p.Question = "Does " + c.Factor + " " + c.To + " instead of " + c.From + " help to " + goalText(l.Study.Goal) + "?"
	return p
}

// factor is the factor of a change: of a candidate, else as factorOf finds it.
func (l *loop) factor(name string) study.Factor {
	for _, c := range l.Candidates {
		if c.FullName() == name {
			return c
		}
	}
	return factorOf(l.base, name)
}

// factorOf is the factor of a change: a parameter of the workload or the service, or a setting of the
// machine.
func factorOf(s *study.Study, name string) study.Factor {
	for _, f := range s.Factors {
		if f.FullName() == name {
			return f
		}
	}
	if p, found := strings.CutPrefix(name, s.Workload.Kind+"."); found {
		return study.Factor{Name: name, Parameter: p}
	}
	if s.Service != nil {
		if p, found := strings.CutPrefix(name, s.Service.Kind+"."); found {
			return study.Factor{Name: name, Parameter: p, OfService: true}
		}
	}
	name, target, _ := strings.Cut(name, ":")
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
