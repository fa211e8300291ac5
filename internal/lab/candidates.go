package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"plimsoll/internal/document"
	"plimsoll/internal/factor"
	"plimsoll/internal/finding"
	"plimsoll/internal/lab/tunable"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
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
	if t := c.study.Tune; tunable.Declares(c.study) {
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
	for _, k := range tunable.BuiltIn(c.catalog, c.study) {
		if simulated && c.catalog.Factor(tunable.FactorName(k.Setting)) != nil {
			continue // there is no such machine
		}
		f, err := file.Candidate(c.study, c.catalog, k.Setting, k.For(cpus, parameter.Bytes(memory)))
		if err == nil {
			err = c.add(ctx, f)
		}
		if err != nil && ctx.Err() == nil {
			c.rule(k.Setting, "", err)
		}
	}
	return c, ctx.Err()
}

// rule rules out a level of a setting; an empty level is all of them.
func (c *choice) rule(name, level string, err error) {
	c.out = append(c.out, finding.Idea{Factor: name, Level: level, Reason: document.OneLine(err.Error())})
}

// add adds a candidate, and puts its present level first. Of a built-in one, a level that the study or the machine does not support
// is ruled out; of a declared one it is an error.
func (c *choice) add(ctx context.Context, f study.Factor) error {
	now, err := c.present(ctx, f)
	if err != nil {
		return fmt.Errorf("%s: %w", f.FullName(), err)
	}
	levels := []string{now}
	declared := tunable.Declares(c.study)
	for _, level := range f.Levels {
		if level == now {
			continue
		}
		err := c.supported(ctx, f, now, level)
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
	return c.possible(ctx, &s)
}

// possible reports why a study cannot run.
func (c *choice) possible(ctx context.Context, s *study.Study) error {
	p, err := plan.New(s, 1)
	if err != nil {
		return err
	}
	bench := &trial.Bench{Study: s, Plan: p, Catalog: c.catalog, Platform: c.platform, Dir: c.dir, Scratch: scratch(c.platform, c.dir), Version: c.version}
	_, err = bench.Check(ctx)
	return err
}
