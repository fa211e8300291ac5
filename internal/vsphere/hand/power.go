package hand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
)

const (
	// shutdownTime is the time limit for a guest to shut down.
	shutdownTime = 5 * time.Minute
	lookAgain    = time.Second
)

// Power implements live.Hand.
func (h *Hand) Power(ctx context.Context, name, on string) error {
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return err
	}
	vm, err := h.book.VM(name)
	if err != nil {
		return err
	}
	if on == "" {
		if err := h.shutDown(ctx, vm); err != nil {
			return fmt.Errorf("shut down %s: %w", name, said(err, name))
		}
		return nil
	}
	m := move{name: name, to: on, vm: vm}
	if m.target, err = h.book.Host(on); err != nil {
		return err
	}
	if err := h.start(ctx, m); err != nil {
		return fmt.Errorf("start %s on %s: %w", name, on, said(h.busy(ctx, err), name))
	}
	return nil
}

func (h *Hand) start(ctx context.Context, m move) error {
	was, err := h.look(ctx, m.vm)
	if err != nil {
		return err
	}
	if was.on && was.host != m.target {
		return errors.New("it runs on another host")
	}
	if was.on {
		return nil
	}
	if err := h.fit(ctx, m.target); err != nil {
		return err
	}
	err = h.carryOut(ctx, m.vm, func() (reference, error) {
		answer, err := methods.PowerOnVM_Task(ctx, h.client(), &types.PowerOnVM_Task{This: m.vm, Host: &m.target})
		if err != nil {
			return reference{}, err
		}
		return answer.Returnval, nil
	})
	if err != nil && !uncertain(err) {
		return err
	}
	var now location
	trouble := h.persist(ctx, func(ctx context.Context) (err error) {
		now, err = h.look(ctx, m.vm)
		return err
	})
	switch {
	case trouble != nil && err != nil:
		return fmt.Errorf("%w; whether it runs is unknown: %w", err, trouble)
	case trouble != nil:
		return fmt.Errorf("the task succeeded, but the VM cannot be read: %w", trouble)
	case now.on && now.host == m.target:
		return nil
	case now.on:
		return errors.New("it runs on another host, which DRS of the cluster chose")
	case err != nil:
		return err
	}
	return errors.New("the task succeeded, but the VM is off")
}

// shutDown asks the guest to shut down, and waits until the VM is off.
func (h *Hand) shutDown(ctx context.Context, vm reference) error {
	was, err := h.look(ctx, vm)
	if err != nil || !was.on {
		return err
	}
	_, err = methods.ShutdownGuest(ctx, h.client(), &types.ShutdownGuest{This: vm})
	if fault.Is(err, &types.ToolsUnavailable{}) {
		return errors.New("VMware Tools do not run in its guest: shut it down yourself")
	}
	if err != nil && !uncertain(err) && !fault.Is(err, &types.InvalidPowerState{}) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, shutdownTime, fmt.Errorf("its guest has not shut down within %v: shut it down yourself", shutdownTime))
	defer cancel()
	for {
		now := location{on: true}
		err := h.persist(ctx, func(ctx context.Context) (err error) {
			now, err = h.look(ctx, vm)
			return err
		})
		if err != nil || !now.on {
			return err
		}
		if err := live.Pause(ctx, lookAgain); err != nil {
			return fmt.Errorf("%w; its guest was asked to shut down, but still runs", err)
		}
	}
}
