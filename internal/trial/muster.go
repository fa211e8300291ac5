package trial

import (
	"context"
	"fmt"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// muster has the machines of an arm, and no others, running.
func (s *session) muster(ctx context.Context, levels map[string]string) (machines.Set, error) {
	if len(s.bench.Study.Groups) == 0 {
		return s.machines.Alone(s.kind, s.bench.Study.Settings(levels)), nil
	}
	if s.bench.Study.Tiled() {
		return tilesOf(ctx, s, levels, s.bench.Study.Tiles())
	}
	return s.machines.Gather(ctx, s.bench.Study.ArmGroups(levels), s.driven(levels))
}

// tilesOf has the machines of so many tiles running: one of every group for each. Those of others end without a service.
func tilesOf(ctx context.Context, s *session, levels map[string]string, tiles int) (machines.Set, error) {
	if err := s.tiles.Shrink(ctx, tiles); err != nil {
		return nil, err
	}
	groups := s.bench.Study.ArmGroups(levels)
	for i := range groups {
		if !groups[i].Twin {
			groups[i].Machines = tiles
		}
	}
	return s.machines.Gather(ctx, groups, s.driven(levels))
}

// driven is the workload of each group in an arm.
func (s *session) driven(levels map[string]string) machines.Loads {
	return func(g study.Group) (kind workload.Kind, settings parameter.Settings, err error) {
		switch {
		case g.Subject:
			return s.kind, s.bench.Study.Settings(levels), nil
		case g.Workload == nil:
			return kind, nil, nil
		}
		found := s.bench.Catalog.Workload(g.Workload.Kind)
		if found == nil {
			return kind, nil, fmt.Errorf("workload %s: not in this version of plimsoll", g.Workload.Kind)
		}
		return *found, g.Workload.Settings, nil
	}
}

// underlay has the service running in which the machines have their disks, if there is one.
func (a *attempt) underlay(ctx context.Context) error {
	if a.session.services.Hosting == nil {
		return nil
	}
	host, err := a.session.machines.Host(ctx)
	if err != nil {
		return err
	}
	a.session.reporter.say(PhasePrepare, 0, "")
	if err := a.session.services.Start(ctx, a.arm, host, a.trial.Seed); err != nil {
		return err
	}
	return a.session.services.Hosting.Attach(ctx, a.session.services.Current)
}
