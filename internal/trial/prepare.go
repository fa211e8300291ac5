package trial

import (
	"context"
	"fmt"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// prepare makes ready what the loads need. It is entered in the journal once
// for each load, and done before each trial, since a workload that finds its
// work done has nothing to do and loads may disturb each other's files. A
// simulator serves the demand alone and needs nothing.
func (s *session) prepare(ctx context.Context, all machines.Set) error {
	if s.sim != nil {
		return nil
	}
	var fresh machines.Set
	for _, m := range all.Driving() {
		if !s.journal.Undo.Prepared(entryOf(m)) {
			fresh = append(fresh, m)
			e := entryOf(m)
			if err := s.journal.Append(journal.Entry{Kind: journal.KindPrepare, Load: &e}); err != nil {
				return err
			}
		}
	}
	s.journal.Step("before prepare")
	if err := s.machines.MakeScratch(ctx, all); err != nil {
		return err
	}
	err := all.Driving().Each(ctx, func(ctx context.Context, m *machines.Member) error {
		return m.Load.Prepare(ctx, s.envOf(m))
	})
	s.journal.Step("after prepare")
	if err != nil {
		return fmt.Errorf("prepare workload %s in %s: %w", s.kind.Name, s.machines.Scratch, err)
	}
	for _, m := range fresh {
		e := entryOf(m)
		if err := s.journal.Append(journal.Entry{Kind: journal.KindPrepared, Load: &e}); err != nil {
			return err
		}
	}
	return nil
}

// entry is the load of a member as the journal has it.
func entryOf(m *machines.Member) journal.Load {
	e := journal.Load{Machine: m.Name, Settings: m.Settings}
	if m.Name != "" {
		e.Workload, e.Index = m.Kind.Name, m.Index
	}
	return e
}

func (s *session) log(format string, args ...any) {
	s.reporter.say(PhasePrepare, 0, fmt.Sprintf(format, args...))
}

// envOf is where a member's load runs.
func (s *session) envOf(m *machines.Member) workload.Env {
	env := m.At.Env(machines.DataSeed(s.Plan.Seed, m.Index))
	env.Log, env.Target = s.log, s.services.Target
	if m.Name != "" {
		env.Log = func(format string, args ...any) { s.log(m.Name+": "+format, args...) }
	}
	return env
}
