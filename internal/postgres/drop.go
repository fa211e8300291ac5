package postgres

import (
	"context"
	"fmt"

	"plimsoll/internal/wire"
)

// Drop drops databases, with the sessions in them. It tries again after a crash and restart of
// the server.
func Drop(ctx context.Context, at wire.Target, names ...string) error {
	const often = 3
	for n := 1; ; n++ {
		err := drop(ctx, at, names)
		if !Lost(err) || n == often || ctx.Err() != nil {
			return err
		}
	}
}

func drop(ctx context.Context, at wire.Target, names []string) error {
	s, err := Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	for _, name := range names {
		if err := s.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("remove the database %s: %w", name, err)
		}
	}
	return nil
}
