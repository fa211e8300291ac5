package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/machines"
)

// choice collects the settings that a tuning of a study may change.
type choice struct {
	catalog  *study.Catalog
	version  string
	study    *study.Study
	dir      string
	platform platform.Platform
	lead     platform.Machine
	all      []study.Factor // the present level first
	out      []finding.Idea // ruled out
}

// candidates are the settings that a tuning may change: those that the study declares, else those of the catalog for its
// workload, service and platform. What the machine does not support is ruled out with the reason. The error of a declared one is a
// mistake.
func candidates(ctx context.Context, l *Lab, request Request, p platform.Platform) (*choice, error) {
	dir, err := filepath.Abs(request.Dir)
	if err != nil {
		return nil, fmt.Errorf("find results folder: %w", err)
	}
	c := &choice{catalog: l.Catalog, version: l.Version, study: request.Source.Study, dir: dir, platform: p}
	if c.lead, err = machines.Lead(ctx, p, c.study); err != nil {
		return nil, err
	}
	if t := c.study.Tune; declares(c.study) {
		for _, f := range t.Candidates {
			f.Levels = slices.Clone(f.Levels)
			if err := c.add(ctx, f); err != nil {
				return nil, &mistake{err}
			}
		}
		return c, nil
	}
	_, simulated := p.(platform.Simulator)
	cpus, memory := platform.Size(ctx, c.lead)
	for _, k := range c.builtIn() {
		if simulated && c.catalog.Factor(factorName(k.Setting)) != nil {
			continue // there is no such machine
		}
		f, err := c.study.Candidate(c.catalog, k.Setting, k.For(cpus, parameter.Bytes(memory)))
		if err == nil {
			err = c.add(ctx, f)
		}
		if err != nil && ctx.Err() == nil {
			c.rule(k.Setting, "", err)
		}
	}
	return c, ctx.Err()
}

// declares reports whether a study names its candidates, or that there are none.
func declares(s *study.Study) bool {
	return s.Tune != nil && (s.Tune.RulesOnly || len(s.Tune.Candidates) > 0)
}

// rule rules out a level of a setting; an empty level is all of them.
func (c *choice) rule(name, level string, err error) {
	c.out = append(c.out, finding.Idea{Factor: name, Level: level, Reason: document.OneLine(err.Error())})
}

// builtIn are the candidates of the catalog. The settings of a service that is provided are its owner's.
func (c *choice) builtIn() (all []parameter.Candidate) {
	if k := c.catalog.Workload(c.study.Workload.Kind); k != nil {
		all = append(all, k.Candidates...)
	}
	if s := c.study.Service; s != nil && s.Settings["address"] == "" {
		all = append(all, c.catalog.Service(s.Kind).Candidates...)
	}
	for _, k := range c.catalog.Platforms {
		if k.Name == c.study.Platform.Kind {
			all = append(all, k.Candidates...)
		}
	}
	return all
}

// add adds a candidate, and puts its present level first. Of a built-in one, a level that the study or the machine does not support
// is ruled out; of a declared one it is an error.
func (c *choice) add(ctx context.Context, f study.Factor) error {
	now, err := c.present(ctx, f)
	if err != nil {
		return fmt.Errorf("%s: %w", f.FullName(), err)
	}
	levels := []string{now}
	declared := declares(c.study)
	for _, level := range f.Levels {
		err := error(nil)
		if level != now {
			err = c.supported(ctx, f, now, level)
		}
		switch {
		case err == nil:
			levels = append(levels, level)
		case declared || ctx.Err() != nil:
			return err
		default:
			c.rule(f.FullName(), level, err)
		}
	}
	if f.Levels = levels; len(levels) > 1 {
		c.all = append(c.all, f)
	}
	return nil
}

// present is the level of a setting that is in effect.
func (c *choice) present(ctx context.Context, f study.Factor) (string, error) {
	for _, varied := range c.study.Factors {
		if varied.FullName() == f.FullName() {
			return varied.Levels[0], nil
		}
	}
	if f.Parameter != "" {
		settings, defaults := c.study.Settings(nil), any(nil)
		if f.OfService {
			settings, defaults = c.study.ServiceSettings(nil), c.catalog.Service(c.study.Service.Kind).Defaults
		} else {
			defaults = c.catalog.Workload(c.study.Workload.Kind).Defaults
		}
		field, _ := parameter.Find(defaults, f.Parameter)
		return cmp.Or(settings[f.Parameter], field.Default), nil
	}
	known := c.catalog.Factor(f.Name)
	if known == nil { // of the user's own commands
		return "", errors.New("its present level is unknown: add it to factors, with that level alone")
	}
	return known.Get(ctx, factor.Env{Machine: c.lead, Target: f.Target, Dir: scratch(c.platform, c.dir)})
}

// supported asks study and machine for a change without making it.
func (c *choice) supported(ctx context.Context, f study.Factor, now, level string) error {
	s := *c.study
	s.Factors = slices.Clone(s.Factors)
	for i := range s.Factors {
		s.Factors[i].Levels = s.Factors[i].Levels[:1]
	}
	s.Factors = slices.DeleteFunc(s.Factors, func(other study.Factor) bool { return other.FullName() == f.FullName() })
	f.Levels = []string{now, level}
	s.Factors = append(s.Factors, f)
	p, err := plan.New(&s, 1)
	if err != nil {
		return err
	}
	bench := &trial.Bench{Study: &s, Plan: p, Catalog: c.catalog, Platform: c.platform, Dir: c.dir, Scratch: scratch(c.platform, c.dir), Version: c.version}
	_, err = bench.Check(ctx)
	return err
}

// factorName is the name of a factor without its target.
func factorName(full string) string {
	name, _, _ := strings.Cut(full, ":")
	return name
}

// unsafe reports whether a level of a setting can lose data or weaken security.
func unsafe(c *study.Catalog, s *study.Study, name, level string) bool {
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

// Tunable is a setting that plimsoll tune may change.
type Tunable struct {
	Name   string
	Levels []string // empty: relative to the machine
	Unsafe []string // levels that it tries with --allow unsafe only

	relative int // number of levels relative to the machine
}

// levelsOf is how many levels may race.
func levelsOf(all []Tunable) (n int) {
	for _, t := range all {
		n += len(t.Levels) + t.relative
	}
	return n
}

// String is the setting in one line.
func (t Tunable) String() string {
	text := t.Name
	if len(t.Levels) > 0 {
		text += ": " + strings.Join(t.Levels, ", ")
	}
	if len(t.Unsafe) > 0 {
		text += "; only with --allow unsafe: " + strings.Join(t.Unsafe, ", ")
	}
	return text
}

// tunable lists the candidates of a study with a goal: those that it declares, else those of the catalog.
func tunable(c *study.Catalog, s *study.Study) (all []Tunable) {
	if s.Goal == nil {
		return nil
	}
	add := func(name string, levels []string) {
		t := Tunable{Name: name}
		for _, level := range levels {
			if unsafe(c, s, name, level) {
				t.Unsafe = append(t.Unsafe, level)
			} else {
				t.Levels = append(t.Levels, level)
			}
		}
		all = append(all, t)
	}
	if declares(s) {
		for _, f := range s.Tune.Candidates {
			add(f.FullName(), f.Levels)
		}
		return all
	}
	for _, k := range (&choice{catalog: c, study: s}).builtIn() {
		add(k.Setting, k.Levels)
		all[len(all)-1].relative = len(k.Memory) + len(k.CPUs)
	}
	return all
}

// unsafeLevels are the levels of the factors of a study, and its settings of workload and service, that can lose data or weaken
// security.
func unsafeLevels(c *study.Catalog, s *study.Study) (all []string) {
	add := func(name, level string) {
		if unsafe(c, s, name, level) {
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
