package proxmox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/live"
)

// shutdownTime is the time limit for a guest to shut down.
const shutdownTime = 5 * time.Minute

// Power implements live.Hand. A VM that is off on another node moves first.
func (h *hand) Power(ctx context.Context, vm, on string) error {
	what := "start " + vm + " on " + on
	if on == "" {
		what = "shut down " + vm
	} else if err := h.move(ctx, vm, on); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := h.power(ctx, vm, on); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (h *hand) power(ctx context.Context, vm, on string) error {
	id, s, err := h.find(ctx, vm)
	if err != nil || s.runs == (on != "") {
		return err
	}
	within := time.Duration(0)
	if on == "" {
		within = shutdownTime
	}
	c := h.source.client
	u, err := c.Power(ctx, s.node, id, within)
	if err == nil {
		err = c.Await(ctx, u)
	}
	if err != nil {
		return err
	}
	// The HA manager starts and stops VMs under its control some time after the request.
	for begin := time.Now(); ; {
		_, s, err := h.find(ctx, vm)
		switch {
		case err != nil:
			return fmt.Errorf("confirm it: %w", err)
		case s.runs == (on != "") && (on == "" || s.node == on):
			return nil
		case time.Since(begin) > rounds:
			return fmt.Errorf("its task has ended, but the VM is on %s (running: %t)", s.node, s.runs)
		}
		if err := live.Pause(ctx, lookAgain); err != nil {
			return fmt.Errorf("confirm it: %w", err)
		}
	}
}

// find finds a VM by its name in the model.
func (h *hand) find(ctx context.Context, vm string) (id int, s placement, err error) {
	v, err := h.source.look(ctx)
	if err != nil {
		return 0, s, err
	}
	for id, s := range v.seats {
		if s.name == vm {
			return id, s, nil
		}
	}
	return 0, s, errors.New("no such VM")
}
