package oltp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// made says which data lies in the database. It is written when all of it is there.
func (o *oltp) made(seed uint64) string {
	return fmt.Sprintf("1: %d tables, %d rows, seed %d", o.Tables, o.Rows, seed)
}

// Prepare has the tables there. What trials changed stays: a row that was deleted was
// written again.
func (o *oltp) Prepare(ctx context.Context, env workload.Env) error {
	at, err := targets(env)
	if err != nil {
		return err
	}
	return postgres.Each(ctx, at, func(ctx context.Context, _ int, at postgres.Place) error {
		if err := o.prepare(ctx, at, env.Seed); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

func (o *oltp) prepare(ctx context.Context, at postgres.Place, seed uint64) error {
	there, err := note(ctx, at)
	if err != nil || there == o.made(seed) {
		return err
	}
	if err := postgres.Drop(ctx, at, database); err != nil {
		return err
	}
	if err := o.make(ctx, at, seed); err != nil {
		return fmt.Errorf("fill the database %s at %s: %w", database, at.Address, err)
	}
	return nil
}

// note is what the database says that it holds; empty where it does not exist, or is
// not whole.
func note(ctx context.Context, at postgres.Place) (string, error) {
	s, err := postgres.Dial(ctx, at, database)
	if postgres.Absent(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT made FROM plimsoll")
	var f *postgres.Fault
	if errors.As(err, &f) && !f.Fatal || err == nil && len(rows) == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read what database %s holds: %w", database, err)
	}
	return rows[0][0], nil
}

// Clean removes the database. A server that is gone holds none.
func (o *oltp) Clean(ctx context.Context, env workload.Env) error {
	if env.Target == nil {
		return nil
	}
	if _, err := env.Target(protocol); err != nil {
		return nil //nolint:nilerr // it does not run
	}
	at, err := targets(env)
	if err != nil {
		return err
	}
	return postgres.Each(ctx, at, func(ctx context.Context, _ int, at postgres.Place) error {
		if err := postgres.Drop(ctx, at, database); err != nil && !postgres.Gone(err) {
			return err
		}
		return nil
	})
}

func (o *oltp) make(ctx context.Context, at postgres.Place, seed uint64) error {
	s, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Exec(ctx, "CREATE DATABASE "+database); err != nil {
		return err
	}
	if err := o.fill(ctx, at, seed); err != nil {
		return err
	}
	inside, err := postgres.Dial(ctx, at, database)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := inside.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	return inside.Exec(ctx, "CREATE TABLE plimsoll (made text); INSERT INTO plimsoll VALUES ('"+o.made(seed)+"')")
}

// fill fills the tables, several at once. The first error ends all.
func (o *oltp) fill(ctx context.Context, at postgres.Place, seed uint64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tables := make(chan int, o.Tables)
	for n := 1; n <= o.Tables; n++ {
		tables <- n
	}
	close(tables)
	var busy sync.WaitGroup
	for range min(o.Loaders, o.Tables) {
		busy.Go(func() {
			s, err := postgres.Dial(ctx, at, database)
			if err != nil {
				cancel(err)
				return
			}
			defer s.Close()
			for n := range tables {
				if err := o.fillOne(ctx, s, n, seed); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	busy.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (o *oltp) fillOne(ctx context.Context, s *postgres.Conn, n int, seed uint64) error {
	if err := s.Exec(ctx, fmt.Sprintf("CREATE TABLE sbtest%d (id int NOT NULL, k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT '')", n)); err != nil {
		return err
	}
	draws, id := newSource(seed, uint64(n)), 0
	err := s.Copy(ctx, fmt.Sprintf("COPY sbtest%d FROM STDIN", n), func(b []byte) ([]byte, bool) {
		id++
		return draws.appendRow(b, id, o.Rows), id < o.Rows
	})
	if err != nil {
		return err
	}
	return s.Exec(ctx, fmt.Sprintf("ALTER TABLE sbtest%d ADD PRIMARY KEY (id); CREATE INDEX k_%d ON sbtest%d (k)", n, n, n))
}
