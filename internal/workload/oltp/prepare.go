package oltp

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/dataset"
	"plimsoll/internal/workload"
)

// made says which data lies in the database. It is written when all of it is there.
func (o *oltp) made(seed uint64) string {
	return fmt.Sprintf("1: %d tables, %d rows, seed %d", o.Tables, o.Rows, seed)
}

// Prepare has the tables there. What trials changed stays: a row that was deleted was
// written again.
func (o *oltp) Prepare(ctx context.Context, env workload.Env) error {
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	return engine.Each(ctx, at, func(ctx context.Context, _ int, at engine.Server) error {
		if err := o.prepare(ctx, at, env.Seed); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

func (o *oltp) prepare(ctx context.Context, at engine.Server, seed uint64) error {
	there, err := o.note(ctx, at)
	if err != nil || there == o.made(seed) {
		return err
	}
	if err := engine.Drop(ctx, at, database); err != nil {
		return err
	}
	if err := o.make(ctx, at, seed); err != nil {
		return fmt.Errorf("fill the database %s at %s: %w", database, at.Address, err)
	}
	return nil
}

// note is what the database says that it holds; empty where it does not exist, or is
// incomplete, as when a table was dropped.
func (o *oltp) note(ctx context.Context, at engine.Server) (string, error) {
	s, err := engine.Visit(ctx, at, database)
	if s == nil {
		return "", err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT made, (SELECT count(*) FROM information_schema.tables WHERE table_schema IN ('public', '"+database+"') AND table_name LIKE 'sbtest%') FROM plimsoll")
	if engine.Refused(err) || err == nil && (len(rows) == 0 || rows[0][1] != strconv.Itoa(o.Tables)) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read what database %s holds: %w", database, err)
	}
	return rows[0][0], nil
}

// Clean removes the database.
func (o *oltp) Clean(ctx context.Context, env workload.Env) error {
	return dataset.Set{Name: database}.Clean(ctx, env.Target, env.Dial)
}

func (o *oltp) make(ctx context.Context, at engine.Server, seed uint64) error {
	s, err := engine.Dial(ctx, at, "")
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
	inside, err := engine.Dial(ctx, at, database)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := o.settle(ctx, inside, at.Protocol); err != nil {
		return err
	}
	return inside.Exec(ctx, "CREATE TABLE plimsoll (made text); INSERT INTO plimsoll VALUES ('"+o.made(seed)+"')")
}

// fill fills the tables, several at once. The first error ends all.
func (o *oltp) fill(ctx context.Context, at engine.Server, seed uint64) error {
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
			s, err := engine.Dial(ctx, at, database)
			if err != nil {
				cancel(err)
				return
			}
			defer s.Close()
			for n := range tables {
				if err := o.fillOne(ctx, s, table{n, at.Protocol}, seed); err != nil {
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

// settle has the server know what the tables hold.
func (o *oltp) settle(ctx context.Context, s engine.Conn, protocol string) error {
	if protocol == engine.PostgreSQL {
		return s.Exec(ctx, "VACUUM ANALYZE")
	}
	for n := 1; n <= o.Tables; n++ {
		if err := s.Exec(ctx, fmt.Sprintf("ANALYZE TABLE sbtest%d", n)); err != nil {
			return err
		}
	}
	return nil
}

// table is one to be filled.
type table struct {
	number   int
	protocol string
}

// PostgreSQL makes keys faster when the rows are there; MariaDB keeps the rows of a table
// in the order of its key, in which they come.
func (o *oltp) fillOne(ctx context.Context, s engine.Conn, t table, seed uint64) error {
	key, later := ", PRIMARY KEY (id)", ""
	if t.protocol == engine.PostgreSQL {
		key, later = "", "ALTER TABLE sbtest%[1]d ADD PRIMARY KEY (id); "
	}
	if err := s.Exec(ctx, fmt.Sprintf("CREATE TABLE sbtest%d (id int NOT NULL, k int NOT NULL DEFAULT 0, c char(120) NOT NULL DEFAULT '', pad char(60) NOT NULL DEFAULT ''%s)", t.number, key)); err != nil {
		return err
	}
	draws, id := newSource(seed, uint64(t.number)), 0
	err := s.Fill(ctx, fmt.Sprintf("sbtest%d", t.number), "", func(b []byte) ([]byte, bool) {
		id++
		return draws.appendRow(b, id, o.Rows), id < o.Rows
	})
	if err != nil {
		return err
	}
	return s.Exec(ctx, fmt.Sprintf(later+"CREATE INDEX k_%[1]d ON sbtest%[1]d (k)", t.number))
}
