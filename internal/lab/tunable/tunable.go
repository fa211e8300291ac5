// Package tunable lists the settings of a study that plimsoll tune may change, and the unsafe levels among them.
package tunable

import (
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// Declares reports whether a study names its candidates, or that there are none.
func Declares(s *study.Study) bool {
	return s.Tune != nil && (s.Tune.RulesOnly || len(s.Tune.Candidates) > 0)
}

// BuiltIn are the candidates of the catalog. The settings of a service that is provided are its owner's.
func BuiltIn(c *study.Catalog, s *study.Study) (all []parameter.Candidate) {
	if k := c.Workload(s.Workload.Kind); k != nil {
		all = append(all, k.Candidates...)
	}
	if at := s.Service; at != nil && at.Settings["address"] == "" {
		all = append(all, c.Service(at.Kind).Candidates...)
	}
	for _, k := range c.Platforms {
		if k.Name == s.Platform.Kind {
			all = append(all, k.Candidates...)
		}
	}
	return all
}

// FactorName is the name of a factor without its target.
func FactorName(full string) string {
	name, _, _ := strings.Cut(full, ":")
	return name
}

// Unsafe reports whether a level of a setting can lose data or weaken security.
func Unsafe(c *study.Catalog, s *study.Study, name, level string) bool {
	short, target, _ := strings.Cut(name, ":")
	if f := c.Factor(short); f != nil {
		return f.IsUnsafe(target, level)
	}
	kind, setting, _ := strings.Cut(name, ".")
	var defaults any
	switch {
	case kind == s.Workload.Kind:
		defaults = c.Workload(kind).Defaults
	case s.Service != nil && kind == s.Service.Kind:
		defaults = c.Service(kind).Defaults
	default:
		return false
	}
	field, _ := parameter.Find(defaults, setting)
	return field.IsUnsafe(level)
}

// Setting is a setting that plimsoll tune may change.
type Setting struct {
	Name   string
	Levels []string // empty: relative to the machine
	Unsafe []string // levels that it tries with --allow unsafe only

	relative int // number of levels relative to the machine
}

// Levels is how many levels may race.
func Levels(all []Setting) (n int) {
	for _, t := range all {
		n += len(t.Levels) + t.relative
	}
	return n
}

// String is the setting in one line.
func (t Setting) String() string {
	text := t.Name
	if len(t.Levels) > 0 {
		text += ": " + strings.Join(t.Levels, ", ")
	}
	if len(t.Unsafe) > 0 {
		text += "; only with --allow unsafe: " + strings.Join(t.Unsafe, ", ")
	}
	return text
}

// Of lists the candidates of a study with a goal: those that it declares, else those of the catalog.
func Of(c *study.Catalog, s *study.Study) (all []Setting) {
	if s.Goal == nil {
		return nil
	}
	add := func(name string, levels []string) {
		t := Setting{Name: name}
		for _, level := range levels {
			if Unsafe(c, s, name, level) {
				t.Unsafe = append(t.Unsafe, level)
			} else {
				t.Levels = append(t.Levels, level)
			}
		}
		all = append(all, t)
	}
	if Declares(s) {
		for _, f := range s.Tune.Candidates {
			add(f.FullName(), f.Levels)
		}
		return all
	}
	for _, k := range BuiltIn(c, s) {
		add(k.Setting, k.Levels)
		all[len(all)-1].relative = len(k.Memory) + len(k.CPUs)
	}
	return all
}

// UnsafeLevels are the levels of the factors of a study, and its settings of workload and service, that can lose data or weaken
// security.
func UnsafeLevels(c *study.Catalog, s *study.Study) (all []string) {
	add := func(name, level string) {
		if Unsafe(c, s, name, level) {
			all = append(all, name+"="+level)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Workload.Settings)) {
		add(s.Workload.Kind+"."+name, s.Workload.Settings[name])
	}
	if s.Service != nil {
		for _, name := range slices.Sorted(maps.Keys(s.Service.Settings)) {
			add(s.Service.Kind+"."+name, s.Service.Settings[name])
		}
	}
	for _, f := range s.Factors {
		for _, level := range f.Levels {
			add(f.FullName(), level)
		}
	}
	return all
}
