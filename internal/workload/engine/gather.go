package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"plimsoll/internal/postgres"
)

// gather queries a database at each server, several concurrently, and returns the results in
// the order of the servers. The first error cancels the rest.
func gather[T any](ctx context.Context, servers []Server, database string, ask func(ctx context.Context, s Conn) (T, error)) ([]T, error) {
	answers := make([]T, len(servers))
	err := Each(ctx, servers, func(ctx context.Context, number int, at Server) error {
		s, err := Dial(ctx, at, database)
		if err != nil {
			return err
		}
		defer s.Close()
		answers[number], err = ask(ctx, s)
		return err
	})
	return answers, err
}

// returning is the longest wait for a server that may be restarting: crash recovery takes
// time, and acknowledged writes can be verified only afterwards.
const returning = 2 * time.Minute

// GatherAfter queries a database at each server after a load, which may have crashed it: it
// waits for a server that plimsoll did not start.
func GatherAfter[T any](ctx context.Context, servers []Server, database string, ask func(ctx context.Context, s Conn) (T, error)) ([]T, error) {
	if err := Each(ctx, servers, func(ctx context.Context, _ int, at Server) error { return at.await(ctx, returning) }); err != nil {
		return nil, err
	}
	return gather(ctx, servers, database, ask)
}

// await waits until a server accepts connections again.
func (s Server) await(ctx context.Context, longest time.Duration) error {
	for began := time.Now(); ; {
		c, err := Dial(ctx, s, "")
		if err == nil {
			c.Close()
			return nil
		}
		if s.Private || !away(err) {
			return err
		}
		if time.Since(began) > longest {
			return fmt.Errorf("the server at %s did not recover within %s, so acknowledged writes are not verified: %w", s.Address, longest, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// away reports whether an error means that a server is down or starting.
func away(err error) bool {
	var slow net.Error
	return Gone(err) || postgres.Lost(err) || errors.As(err, &slow) && slow.Timeout()
}
