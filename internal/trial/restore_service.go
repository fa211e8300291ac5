package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"

	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// addressSetting is the setting by which a study uses a service that runs already.
const addressSetting = "address"

// foreign lists the services that the study uses and does not start. What a load
// leaves there outlives the run; a private service takes it along.
func (s *session) foreign() []study.Use {
	if s.Study.Service == nil {
		return nil
	}
	var all []study.Use
	for _, arm := range s.Plan.Arms {
		settings := s.Study.ServiceSettings(arm.Levels)
		same := func(u study.Use) bool { return maps.Equal(u.Settings, settings) }
		if settings[addressSetting] != "" && !slices.ContainsFunc(all, same) {
			all = append(all, study.Use{Kind: s.Study.Service.Kind, Settings: settings})
		}
	}
	return all
}

// services removes what services kept on their machines, and the scratch folder where nothing
// else lies in it. The run that had them is dead, and its services with it, perhaps before any
// load was prepared.
func (r *restorer) services(ctx context.Context) {
	for _, name := range slices.Clone(r.journal.Undo.Servers) {
		if r.fleeting {
			r.took("what the service kept ended with its machine", r.journal.Append(journal.Entry{Kind: journal.KindServed, Server: name}))
			continue
		}
		at, err := r.machines.At(name)
		if err == nil {
			err = undisturbed(func() error { return r.sweepServer(ctx, at) })
		}
		if err != nil {
			r.took("", fmt.Errorf("remove what the service kept: %w", err))
			continue
		}
		r.took("removed what the service kept in "+at.Dir, r.journal.Append(journal.Entry{Kind: journal.KindServed, Server: name}))
	}
}

func (r *restorer) sweepServer(ctx context.Context, at machines.Workspace) error {
	if err := sweepServices(ctx, at, r.machines.Mark); err != nil {
		return err
	}
	if at.Dir != r.machines.Scratch {
		if err := at.RemoveScratch(ctx, r.machines.Mark); err != nil {
			return err
		}
	}
	if !r.journal.Begin().Made {
		return nil
	}
	return machines.Workspace{Machine: at.Machine, Dir: r.machines.Scratch}.RemoveScratch(ctx, r.machines.Mark)
}

// cleanForeign removes what a load left in services that outlived the run.
func (r *restorer) cleanForeign(ctx context.Context, l workload.Load) error {
	for _, use := range r.journal.Begin().Services {
		at := use.Kind + " at " + use.Settings[addressSetting]
		err := r.cleanAt(ctx, l, use)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT):
			r.took(fmt.Sprintf("the service %s is gone: if it comes back with its data, what workload %s left is still in it", at, r.kind), nil)
		case err != nil:
			return fmt.Errorf("service %s: %w", at, err)
		default:
			r.took(fmt.Sprintf("removed what workload %s had prepared in the service %s", r.kind, at), nil)
		}
	}
	return nil
}

func (r *restorer) cleanAt(ctx context.Context, l workload.Load, use study.Use) error {
	i := slices.IndexFunc(r.machines.Catalog.Services, func(k service.Kind) bool { return k.Name == use.Kind })
	if i < 0 {
		return errors.New("this plimsoll does not have it")
	}
	kind := r.machines.Catalog.Services[i]
	built, err := kind.New(use.Settings)
	if err != nil {
		return err
	}
	env := serviceEnv(r.machines.First(), kind)
	env.Seed = r.seed
	instance, err := built.Start(ctx, env)
	if err != nil {
		return err
	}
	at := r.machines.First().Env(r.seed)
	at.Target = instance.Endpoint
	return errors.Join(l.Clean(ctx, at), instance.Stop(ctx))
}
