package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/serve"
	"plimsoll/internal/workload"
)

// Services removes the files of services on their machines, and the scratch folder where it is
// empty then. The run is dead, and its services with it, perhaps before any load was prepared.
func (r *Restorer) Services(ctx context.Context) {
	for _, name := range slices.Clone(r.Journal.Undo.Servers) {
		if r.Fleeting {
			if err := r.clearDisks(ctx); err != nil {
				r.took("", err)
				continue
			}
			r.took("the files of the service ended with their machine", r.Journal.Append(journal.Entry{Kind: journal.KindServed, Server: name}))
			continue
		}
		at, err := r.Machines.At(name)
		if err == nil {
			err = undisturbed(func() error { return r.sweepServer(ctx, at) })
		}
		if err != nil {
			r.took("", fmt.Errorf("remove the files of the service: %w", err))
			continue
		}
		r.took("removed the files of the service in "+at.Dir, r.Journal.Append(journal.Entry{Kind: journal.KindServed, Server: name}))
	}
}

// clearDisks removes the disks of machines from services that outlived the run.
func (r *Restorer) clearDisks(ctx context.Context) error {
	b := r.Journal.Begin()
	if !b.Hosted {
		return nil
	}
	said, err := serve.Clear(ctx, r.Machines, b.Services)
	for _, line := range said {
		r.took(line, nil)
	}
	return err
}

func (r *Restorer) sweepServer(ctx context.Context, at machines.Workspace) error {
	if err := serve.Sweep(ctx, at, r.Machines); err != nil {
		return err
	}
	if at.Dir != r.Machines.Scratch {
		if err := at.RemoveScratch(ctx, r.Machines.Mark); err != nil {
			return err
		}
	}
	if b := r.Journal.Begin(); !b.Made || b.Hosted { // the scratch folder is on another machine
		return nil
	}
	return machines.Workspace{Machine: at.Machine, Dir: r.Machines.Scratch}.RemoveScratch(ctx, r.Machines.Mark)
}

// cleanForeign removes the data of a load from services that outlived the run.
func (r *Restorer) cleanForeign(ctx context.Context, l workload.Load) error {
	for _, use := range r.Journal.Begin().Services {
		at := use.Kind + " at " + use.Settings[serve.AddressSetting]
		err := r.cleanAt(ctx, l, use)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT):
			r.took(fmt.Sprintf("the service %s is gone: if it comes back with its data, the data of workload %s is still in it", at, r.Kind), nil)
		case err != nil:
			return fmt.Errorf("service %s: %w", at, err)
		default:
			r.took(fmt.Sprintf("removed the data of workload %s from the service %s", r.Kind, at), nil)
		}
	}
	return nil
}

func (r *Restorer) cleanAt(ctx context.Context, l workload.Load, use study.Use) error {
	kind := r.Machines.Catalog.Service(use.Kind)
	if kind == nil {
		return errors.New("not in this version of plimsoll")
	}
	built, err := kind.New(use.Settings)
	if err != nil {
		return err
	}
	env := serve.Env(r.Machines.First(), *kind)
	env.Seed = r.seed
	instance, err := built.Start(ctx, env)
	if err != nil {
		return err
	}
	at := r.Machines.First().Env(r.seed)
	at.Target = instance.Endpoint
	return errors.Join(l.Clean(ctx, at), instance.Stop(ctx))
}

// clear stops the service at the end of a session, and removes the folder of
// services, and that of the run where nothing else lies in it.
func (r *Restorer) clear(ctx context.Context, s *serve.Services) error {
	if err := s.Stop(ctx); err != nil {
		return err
	}
	if len(s.Lodged) == 0 { // no service came up; one that did not may have written something
		r.Services(ctx)
		return nil
	}
	for _, at := range s.Lodged {
		if err := r.sweepServer(ctx, at); err != nil {
			return err
		}
	}
	for _, name := range slices.Clone(r.Journal.Undo.Servers) {
		if err := r.Journal.Append(journal.Entry{Kind: journal.KindServed, Server: name}); err != nil {
			return err
		}
	}
	return nil
}
