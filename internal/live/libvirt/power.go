package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/live"
)

const (
	// shutdownTime is the time limit for a guest to shut down.
	shutdownTime = 5 * time.Minute
	lookAgain    = 500 * time.Millisecond
)

// Power implements live.Hand. The definition of a VM that is off on another host moves first.
func (h *hand) Power(ctx context.Context, vm, on string) error {
	switch {
	case on == "":
		if err := h.shutDown(ctx, vm); err != nil {
			return fmt.Errorf("shut down %s: %w", vm, err)
		}
		return nil
	default:
		if err := h.start(ctx, vm, on); err != nil {
			return fmt.Errorf("start %s on %s: %w", vm, on, err)
		}
		return nil
	}
}

func (h *hand) start(ctx context.Context, vm, on string) error {
	if err := h.move(ctx, vm, on); err != nil {
		return err
	}
	w, err := h.locate(ctx, vm, on)
	if err != nil {
		return err
	}
	conn, err := libvirt.Dial(ctx, h.source.file.host(on).uri)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", on, err)
	}
	defer conn.Close()
	d, err := libvirt.Host{Conn: conn}.LookupUUID(ctx, w.id)
	if err != nil {
		return err
	}
	state, err := conn.State(ctx, d)
	if err != nil || state.On() {
		return err
	}
	if err := (libvirt.Host{Conn: conn}).Start(ctx, d); err != nil {
		return err
	}
	if state, err = conn.State(ctx, d); err != nil {
		return fmt.Errorf("confirm that it runs: %w", err)
	}
	if !state.On() {
		return fmt.Errorf("it was started, but is %s", state)
	}
	return nil
}

// shutDown asks the guest to shut down, and waits until the VM is off.
func (h *hand) shutDown(ctx context.Context, vm string) error {
	if h.source.file.readOnly {
		return errors.New("the list of hosts is read-only")
	}
	s := h.source
	s.mu.Lock()
	s.refresh(ctx)
	v := s.view()
	s.mu.Unlock()
	for id, seat := range v.seats {
		if seat.name != vm {
			continue
		}
		if !seat.active {
			return nil
		}
		conn, err := libvirt.Dial(ctx, s.file.host(seat.host).uri)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", seat.host, err)
		}
		defer conn.Close()
		d, err := libvirt.Host{Conn: conn}.LookupUUID(ctx, id)
		if err == nil {
			err = libvirt.Host{Conn: conn}.Shutdown(ctx, d)
		}
		if err == nil {
			err = awaitOff(ctx, conn, d)
		}
		return err
	}
	return errors.New("no such VM")
}

// awaitOff waits until a domain is off, or deleted if it was transient.
func awaitOff(ctx context.Context, conn *libvirt.Conn, d libvirt.Domain) error {
	ctx, cancel := context.WithTimeoutCause(ctx, shutdownTime, fmt.Errorf("its guest has not shut down within %v: shut it down yourself", shutdownTime))
	defer cancel()
	for {
		state, err := conn.State(ctx, d)
		switch {
		case libvirt.Missing(err) || err == nil && (state == libvirt.Off || state == libvirt.Crashed):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		if live.Pause(ctx, lookAgain) != nil {
			return fmt.Errorf("%w; its guest was asked to shut down, but still runs", context.Cause(ctx))
		}
	}
}
