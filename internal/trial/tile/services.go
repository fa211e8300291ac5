// Package tile has what the members of tiles have of their own: a service for each, and limits that each is held
// against. A tile is one machine of every group of a study.
package tile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/requirement"
	"plimsoll/internal/trial/serve"
)

// Services are the services of the members of tiles, each in the folder of its machine. For a study without tiles, all
// methods do nothing.
type Services struct {
	Study    *study.Study
	Plan     *plan.Plan
	Machines *machines.Inventory
	Journal  *journal.Journal
	Log      func(format string, args ...any)
	Known    *requirement.Known

	running []*running
}

// running is the service of one member.
type running struct {
	machine, group string
	tile           int // from 1
	*serve.Services
}

// of is the service of a member, started or not.
func (s *Services) of(m *machines.Member) *running {
	if i := slices.IndexFunc(s.running, func(r *running) bool { return r.machine == m.Name }); i >= 0 {
		return s.running[i]
	}
	log := func(format string, args ...any) { s.Log(m.Name+": "+format, args...) }
	return &running{m.Name, m.Group.Name, m.Index + 1, &serve.Services{Study: s.Study.Alone(m.Group), Plan: s.Plan, Machines: s.Machines, Journal: s.Journal, Log: log, Known: s.Known}}
}

// alone is a member as a set of its own, whose service is that of the study.
func alone(m *machines.Member) machines.Set {
	own := *m
	own.Group.Subject = true
	return machines.Set{&own}
}

// Start has the service of every member running, and stops those of others. Members talk to theirs from then on.
func (s *Services) Start(ctx context.Context, arm plan.Arm, members machines.Set, block uint64) error {
	if !s.Study.Tiled() {
		return nil
	}
	if err := s.keep(ctx, func(r *running) bool {
		return slices.ContainsFunc(members, func(m *machines.Member) bool { return m.Name == r.machine })
	}); err != nil {
		return err
	}
	for _, m := range members {
		if m.Group.Service == nil || m.Group.Name == study.TwinGroup { // a restart starts that one
			continue
		}
		r := s.of(m)
		if !slices.Contains(s.running, r) {
			s.running = append(s.running, r)
		}
		if err := r.Start(ctx, arm, alone(m), block); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		m.Target = r.Target
	}
	return nil
}

// keep stops all services but some.
func (s *Services) keep(ctx context.Context, which func(*running) bool) error {
	var errs []error
	s.running = slices.DeleteFunc(s.running, func(r *running) bool {
		if which(r) {
			return false
		}
		errs = append(errs, r.Stop(ctx))
		return true
	})
	return errors.Join(errs...)
}

// Shrink stops the services of all but so many tiles, whose machines may end then.
func (s *Services) Shrink(ctx context.Context, tiles int) error {
	return s.keep(ctx, func(r *running) bool { return r.tile <= tiles })
}

// Renew stops the services of which each trial gets a fresh one, before their machines restart.
func (s *Services) Renew(ctx context.Context) error {
	return s.keep(ctx, func(r *running) bool { return !r.Renews() })
}

// Stop stops all services.
func (s *Services) Stop(ctx context.Context) error { return s.Shrink(ctx, 0) }

// Check reports whether the service of each member can be started, and adds up their needs.
func (s *Services) Check(ctx context.Context, arm plan.Arm, members machines.Set) (sum service.Needs, err error) {
	for _, m := range members {
		if m.Group.Service == nil {
			continue
		}
		needs, err := s.of(m).Check(ctx, arm, alone(m))
		if err != nil {
			return sum, fmt.Errorf("group %s: %w", m.Group.Name, err)
		}
		sum.Disk, sum.Memory, sum.Time = sum.Disk+needs.Disk, sum.Memory+needs.Memory, sum.Time+needs.Time
		sum.Changes = append(sum.Changes, needs.Changes...)
		for name, version := range needs.Versions {
			if sum.Versions == nil {
				sum.Versions = map[string]string{}
			}
			sum.Versions[name] = version
		}
	}
	return sum, nil
}

// Spoken are the protocols of the service of a member.
func (s *Services) Spoken(m *machines.Member) []string {
	if m.Group.Service == nil {
		return nil
	}
	return s.of(m).Spoken()
}

// Settle asks each service until it is done with earlier work.
func (s *Services) Settle(ctx context.Context, say func(note string)) (checks []measure.Check, err error) {
	for _, r := range s.running {
		check, err := r.Settle(ctx, say)
		if check.Name != "" {
			check.Detail = r.machine + ": " + check.Detail
			checks = append(checks, check)
		}
		if err != nil {
			return checks, fmt.Errorf("%s: %w", r.machine, err)
		}
	}
	return checks, nil
}

// Guard does some work with all services, and ends it when one is in trouble or has died.
func (s *Services) Guard(ctx context.Context, work func(context.Context) error) error {
	for _, r := range s.running {
		next := work
		work = func(ctx context.Context) error { return serve.Guard(ctx, r.Services, next) }
	}
	return work(ctx)
}

// Dead reports whether a service died.
func (s *Services) Dead() bool {
	return slices.ContainsFunc(s.running, func(r *running) bool { return r.Services.Dead() })
}

// Died returns the death of a service, if that is why a trial failed.
func (s *Services) Died(trouble error) error {
	for _, r := range s.running {
		if r.Services.Dead() {
			return fmt.Errorf("%s: %w", r.machine, r.Services.Died(trouble))
		}
	}
	return trouble
}

// Observe enters the settings of services that are in effect in a record, under the names of their groups: those of the
// first tile, which all others have as well.
func (s *Services) Observe(ctx context.Context, record *measure.Record) {
	seen := map[string]bool{}
	for _, r := range s.running {
		if seen[r.group] || r.Current == nil || strings.HasPrefix(r.group, study.TwinGroup+"-") {
			continue
		}
		seen[r.group] = true
		settings, err := r.Current.Instance.Observed(ctx)
		if err != nil {
			record.Warnings = append(record.Warnings, fmt.Sprintf("%s: service %s does not report its settings: %v", r.machine, r.Current.Kind.Name, err))
		}
		for name, value := range settings {
			record.Observed[r.group+"."+r.Current.Kind.Name+"."+name] = value
		}
	}
}
