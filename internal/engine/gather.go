package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"plimsoll/internal/postgres"
)

// gather asks something of a database at each server, some at once, and returns the answers
// in the order of the servers. The first error ends all.
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

// returning is how long a server is waited for that may be started again. Recovery after a
// crash takes a while, and what it acknowledged can be verified only then.
const returning = 2 * time.Minute

// GatherAfter asks something of a database at each server after a load, which a server may
// not have survived: one that plimsoll did not start is waited for.
func GatherAfter[T any](ctx context.Context, servers []Server, database string, ask func(ctx context.Context, s Conn) (T, error)) ([]T, error) {
	if err := Each(ctx, servers, func(ctx context.Context, _ int, at Server) error { return at.await(ctx, returning) }); err != nil {
		return nil, err
	}
	return gather(ctx, servers, database, ask)
}

// await waits until a server answers again.
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

// away reports whether an error is of a server that is down or starts.
func away(err error) bool {
	var slow net.Error
	return Gone(err) || postgres.Lost(err) || errors.As(err, &slow) && slow.Timeout()
}
