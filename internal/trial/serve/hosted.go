package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/machines"
)

// hosting ends the machines whose disks are in a service when that dies: what they have outstanding would never complete.
type hosting struct {
	stop  func() // nil while nothing is watched
	ended sync.WaitGroup
}

// Announce tells the platform that the disks of its machines will be in the service, before any of them boots.
func (s *Services) Announce(ctx context.Context) error {
	if !s.Study.Hosted || s.Simulated {
		return nil
	}
	on, err := s.Machines.Backed()
	if err != nil {
		return err
	}
	return on.Attach(ctx, load.Endpoint{}, "")
}

// Attach has the disks of machines that boot from now on in the running service.
func (s *Services) Attach(ctx context.Context) error {
	if !s.Study.Hosted || s.Current == nil {
		return nil
	}
	on, err := s.Machines.Backed()
	if err != nil {
		return err
	}
	at, err := s.Current.Instance.Endpoint(s.Machines.Hosts())
	if err != nil {
		return err
	}
	if err := on.Attach(ctx, at, s.Machines.DiskPrefix()); err != nil {
		return err
	}
	s.watch(on)
	return nil
}

// watch ends the machines when the service dies.
func (s *Services) watch(on platform.Backed) {
	of, ok := s.Current.Instance.(service.FailureReporter)
	if !ok || s.hosting.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.hosting.stop = cancel
	s.hosting.ended.Go(func() {
		tick := time.NewTicker(asking)
		defer tick.Stop()
		for of.Died() == nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		_ = on.Detach(ctx, true) // it is called again when the service is stopped
	})
}

// detach ends the machines whose disks are in the service, before that ends.
func (s *Services) detach(ctx context.Context) error {
	if !s.Study.Hosted {
		return nil
	}
	if s.hosting.stop != nil {
		s.hosting.stop()
		s.hosting.ended.Wait()
		s.hosting.stop = nil
	}
	on, err := s.Machines.Backed()
	if err != nil {
		return err
	}
	return on.Detach(ctx, s.Dead())
}

// Clear removes the disks that a dead run left in services that it did not start.
func Clear(ctx context.Context, of *machines.Inventory, uses []study.Use) (said []string, err error) {
	for _, use := range uses {
		at := use.Kind + " at " + use.Settings[AddressSetting]
		if err := clearAt(ctx, of, use); err != nil {
			return said, fmt.Errorf("remove the disks of machines from service %s: %w", at, err)
		}
		said = append(said, "removed the disks of machines from the service "+at)
	}
	return slices.Compact(said), nil
}

func clearAt(ctx context.Context, of *machines.Inventory, use study.Use) error {
	on, err := of.Backed()
	if err != nil {
		return err
	}
	kind := of.Catalog.Service(use.Kind)
	if kind == nil {
		return errors.New("not in this version of plimsoll")
	}
	built, err := kind.New(use.Settings)
	if err != nil {
		return err
	}
	host, err := of.Host(ctx)
	if err != nil {
		return err
	}
	instance, err := built.Start(ctx, Env(host.Lead().At, *kind)) // it runs already
	if err != nil {
		return err
	}
	at, err := instance.Endpoint(of.Hosts())
	if err == nil {
		err = on.Clear(ctx, at, of.DiskPrefix())
	}
	return errors.Join(err, instance.Stop(ctx))
}
