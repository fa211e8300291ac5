package owner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"plimsoll/internal/workload/operations/management"
)

// Perform issues an operation and waits for its end.
func Perform(ctx context.Context, p management.Platform, o management.Order) (management.Outcome, error) {
	ticket, err := p.Issue(ctx, o)
	if err != nil {
		return management.Outcome{}, fmt.Errorf("%s: %w", o.Kind, err)
	}
	out, err := p.Await(ctx, ticket)
	if err != nil {
		return out, fmt.Errorf("%s: %w", o.Kind, err)
	}
	return out, nil
}

// remove powers a VM off and deletes it.
func remove(ctx context.Context, p management.Platform, v management.VM) error {
	if v.Power != management.Off {
		// A suspended VM is deleted as it is where the platform allows it, and powered off otherwise.
		if _, err := Perform(ctx, p, management.Order{Kind: management.PowerOff, VM: v.ID, From: v.Host}); err != nil && v.Power == management.On {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
	}
	if _, err := Perform(ctx, p, management.Order{Kind: management.Delete, VM: v.ID, From: v.Host}); err != nil {
		return fmt.Errorf("%s: %w", v.Name, err)
	}
	return nil
}

const (
	// busyFor bounds the waiting for operations that a lab which was killed or interrupted has left in flight.
	busyFor  = time.Minute
	busyWait = 200 * time.Millisecond
)

// Empty deletes the VMs of a list until it is empty. A VM that the platform refuses to delete, such as
// one with an operation in flight, is tried again for a while.
func Empty(ctx context.Context, p management.Platform, atOnce int, list func() ([]management.VM, error)) error {
	for began := time.Now(); ; {
		vms, err := list()
		if err != nil || len(vms) == 0 {
			return err
		}
		err = Each(vms, atOnce, func(v management.VM) error { return remove(ctx, p, v) })
		var refused *management.Fault
		if err != nil && (!errors.As(err, &refused) || time.Since(began) > busyFor) {
			return err
		}
		if err == nil {
			continue
		}
		select {
		case <-time.After(busyWait):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// Each does something with all VMs, several at a time, and returns the first error.
func Each(vms []management.VM, parallel int, do func(management.VM) error) error {
	work, ends := make(chan management.VM), make(chan error, len(vms))
	var all sync.WaitGroup
	for range min(len(vms), parallel) {
		all.Go(func() {
			for v := range work {
				ends <- do(v)
			}
		})
	}
	for _, v := range vms {
		work <- v
	}
	close(work)
	all.Wait()
	close(ends)
	for err := range ends {
		if err != nil {
			return err
		}
	}
	return nil
}
