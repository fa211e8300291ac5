package orderentry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// made says which data lies in a database. It is written when all of it is there.
func (o *orderEntry) made(seed uint64) string {
	return fmt.Sprintf("1: %d warehouses, %d items, %d customers, seed %d", o.Warehouses, o.Items, o.Customers, seed)
}

// The settings that are noted in the database itself.
const (
	madeNote = "made"
	usedNote = "used"
)

// notes are what a database says about itself; nil where it does not exist, or is
// not whole.
func notes(ctx context.Context, at postgres.Place, name string) (map[string]string, error) {
	s, err := postgres.Dial(ctx, at, name)
	if postgres.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT setting, value FROM plimsoll")
	var f *postgres.Fault
	if errors.As(err, &f) && !f.Fatal {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what database %s holds: %w", name, err)
	}
	found := map[string]string{}
	for _, row := range rows {
		found[row[0]] = row[1]
	}
	return found, nil
}

// Prepare has the data there, as new where each trial is to begin so.
func (o *orderEntry) Prepare(ctx context.Context, env workload.Env) error {
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

func (o *orderEntry) prepare(ctx context.Context, at postgres.Place, seed uint64) error {
	want := o.made(seed)
	first := database
	if o.Reset {
		first = template
	}
	there, err := notes(ctx, at, first)
	if err != nil {
		return err
	}
	if there[madeNote] != want {
		if err := postgres.Drop(ctx, at, database, template); err != nil {
			return err
		}
		if err := o.make(ctx, at, first, seed); err != nil {
			return fmt.Errorf("fill the database %s at %s: %w", first, at.Address, err)
		}
	}
	if !o.Reset {
		return nil
	}
	there, err = notes(ctx, at, database)
	if err != nil || there[madeNote] == want && there[usedNote] == "" {
		return err
	}
	return o.copy(ctx, at)
}

// copy makes the database that is worked on, as the other one is.
func (o *orderEntry) copy(ctx context.Context, at postgres.Place) error {
	s, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SHOW server_version_num")
	if err != nil {
		return fmt.Errorf("ask for the version of the database: %w", err)
	}
	how := ""
	if version, err := strconv.Atoi(rows[0][0]); err == nil && version >= 150000 {
		how = " STRATEGY file_copy" // without a word in the log for each page
	}
	for _, sql := range []string{
		"DROP DATABASE IF EXISTS " + database + " WITH (FORCE)",
		"CREATE DATABASE " + database + " TEMPLATE " + template + how,
	} {
		if err := s.Exec(ctx, sql); err != nil {
			return fmt.Errorf("copy the database %s: %w", template, err)
		}
	}
	return nil
}

// Clean removes the databases. A server that is gone holds none.
func (o *orderEntry) Clean(ctx context.Context, env workload.Env) error {
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
		if err := postgres.Drop(ctx, at, database, template); err != nil && !postgres.Gone(err) {
			return err
		}
		return nil
	})
}

// job is something that one session does by itself.
type job func(ctx context.Context, s *postgres.Conn) error

// make makes a database and fills it.
func (o *orderEntry) make(ctx context.Context, at postgres.Place, name string, seed uint64) error {
	s, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	inside, err := postgres.Dial(ctx, at, name)
	if err != nil {
		return err
	}
	defer inside.Close()
	if err := inside.Exec(ctx, tables); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if err := o.together(ctx, at, name, o.copies(seed)); err != nil {
		return err
	}
	var indexes []job
	for _, sql := range keys {
		indexes = append(indexes, func(ctx context.Context, s *postgres.Conn) error { return s.Exec(ctx, sql) })
	}
	if err := o.together(ctx, at, name, indexes); err != nil {
		return err
	}
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT", "INSERT INTO plimsoll VALUES ('" + madeNote + "', '" + o.made(seed) + "')"} {
		if err := inside.Exec(ctx, sql); err != nil && !(sql == "CHECKPOINT" && postgres.Forbidden(err)) {
			return err
		}
	}
	return nil
}

// copies are the pieces of all tables.
func (o *orderEntry) copies(seed uint64) []job {
	var all []job
	for _, t := range filled {
		for w := 1; w <= o.Warehouses; w++ {
			all = append(all, func(ctx context.Context, s *postgres.Conn) error {
				row, i := t.rows(o.size(), newSource(seed, t.stream<<32|uint64(w)), w), 0
				return s.Copy(ctx, "COPY "+t.name+columns(t.name)+" FROM STDIN", func(b []byte) ([]byte, bool) {
					b, more := row(b, i)
					i++
					return b, more
				})
			})
			if t.once {
				break
			}
		}
	}
	return all
}

// columns are those that the rows have, where they are not all.
func columns(table string) string {
	if table == "order_line" {
		return " (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)"
	}
	return ""
}

// together does jobs in several sessions. The first error ends all.
func (o *orderEntry) together(ctx context.Context, at postgres.Place, name string, jobs []job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan job)
	var busy sync.WaitGroup
	for range min(o.Loaders, len(jobs)) {
		busy.Go(func() {
			s, err := postgres.Dial(ctx, at, name)
			if err != nil {
				cancel(err)
				return
			}
			defer s.Close()
			for j := range todo {
				if err := j(ctx, s); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for _, j := range jobs {
		select {
		case todo <- j:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(todo)
	busy.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// settle writes the data that is still in the server's memory to the disk, so that the
// trial does not pay for what was before it.
func settle(ctx context.Context, s *postgres.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if err := s.Exec(ctx, "CHECKPOINT"); err != nil && !postgres.Forbidden(err) {
		return fmt.Errorf("write a checkpoint: %w", err)
	}
	return nil
}
