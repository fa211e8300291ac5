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

// Hosting has the disks of machines in a service on their host; nil where no service has them.
type Hosting struct {
	Machines *machines.Inventory

	stop  func() // of the watch over the service; nil while there is none
	ended sync.WaitGroup
}

// Announce tells the platform that the disks of its machines will be in the service, before any of them boots.
func (h *Hosting) Announce(ctx context.Context) error {
	if h == nil {
		return nil
	}
	on, err := h.Machines.Backed()
	if err != nil {
		return err
	}
	return on.Attach(ctx, load.Endpoint{}, "")
}

// Attach has the disks of machines that boot from now on in a service that runs. Where it dies the machines are ended: what they have outstanding would never
// complete.
func (h *Hosting) Attach(ctx context.Context, in *Running) error {
	on, err := h.Machines.Backed()
	if err != nil {
		return err
	}
	at, err := in.Instance.Endpoint(h.Machines.Hosts())
	if err != nil {
		return err
	}
	if err := on.Attach(ctx, at, h.Machines.DiskPrefix()); err != nil {
		return err
	}
	if of, ok := in.Instance.(service.FailureReporter); ok && h.stop == nil {
		watching, cancel := context.WithCancel(context.Background())
		h.stop = cancel
		h.ended.Go(func() { watch(watching, of, on) })
	}
	return nil
}

// watch ends the machines when the service has died.
func watch(ctx context.Context, of service.FailureReporter, on platform.Backed) {
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
}

// detach ends the machines whose disks are in the service, before that ends.
func (h *Hosting) detach(ctx context.Context, died bool) error {
	if h == nil {
		return nil
	}
	if h.stop != nil {
		h.stop()
		h.ended.Wait()
		h.stop = nil
	}
	on, err := h.Machines.Backed()
	if err != nil {
		return err
	}
	return on.Detach(ctx, died)
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
