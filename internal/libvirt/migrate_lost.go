package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// retry calls a function with new connections to the daemon of a lost connection, until the daemon
// answers.
func retry(ctx context.Context, c *Conn, do func(*Conn) error) error {
	if c.again == nil {
		return c.reason()
	}
	for {
		other, err := c.again(ctx)
		if err == nil {
			err = do(other)
			_ = other.Close() // it was asked
		}
		if err == nil || code(err) != 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(patience / 100):
		}
	}
}

// StateAgain is the state of a domain after its connection was lost. It waits for the daemon.
func (h Host) StateAgain(ctx context.Context, v Domain) (s State, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = retry(ctx, h.Conn, func(c *Conn) (err error) {
		s, err = c.State(ctx, v)
		return err
	})
	return s, err
}

// operationInvalid is VIR_ERR_OPERATION_INVALID: the state of the domain does not allow the call.
const operationInvalid = 55

// undefineSource removes the domain from the source, whose daemon ended before it confirmed the
// migration. A definition left there could be started a second time.
func (p *phases) undefineSource(ctx context.Context, why error) error {
	const keepNVRAM = 1 << 3
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := retry(ctx, p.from.Conn, func(c *Conn) error {
		there, err := Host{Conn: c}.LookupUUID(ctx, p.Domain.UUID)
		if err != nil {
			return err
		}
		s, err := c.State(ctx, there)
		switch {
		case err != nil:
		case s == Paused:
			err = c.Destroy(ctx, there)
		case s != Off && s != Crashed:
			err = &callError{Code: operationInvalid, Message: "it is " + s.String() + " there"}
		}
		if err == nil {
			_, err = c.of(ctx, "undefine", procUndefineFlags, there, keepNVRAM)
		}
		return err
	})
	if Missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w, and afterwards: %w", why, err)
	}
	return nil
}

// errUnknown reports a migration that may have succeeded.
var errUnknown = errors.New("it is left paused on the source, since it may run on the destination: look there, and resume it on the source if it does not (virsh resume)")

// queryDestination finds out over another connection whether the destination runs the domain, after
// the reply to finish was lost. A domain that runs on both hosts destroys its disks.
func (p *phases) queryDestination(ctx context.Context, why error) (moved Domain, err error) {
	unknown := fmt.Errorf("%w; %w", why, errUnknown)
	if p.to.Conn.again == nil {
		return moved, unknown
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for {
		on, there, err := p.destinationRuns(ctx)
		switch {
		case Missing(err):
			return moved, why
		case err == nil && on:
			return there, nil
		}
		select { // it is about to be resumed or to be ended
		case <-ctx.Done():
			return moved, unknown
		case <-time.After(patience / 100):
		}
	}
}

// destinationRuns reports whether the destination runs the domain.
func (p *phases) destinationRuns(ctx context.Context) (on bool, there Domain, err error) {
	c, err := p.to.Conn.again(ctx)
	if err != nil {
		return false, there, err
	}
	defer c.Close()
	if there, err = (Host{Conn: c}).LookupUUID(ctx, p.Domain.UUID); err != nil {
		return false, there, err
	}
	s, err := c.State(ctx, there)
	return s.On(), there, err
}
