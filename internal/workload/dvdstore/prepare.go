package dvdstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// The settings that are noted in the database itself. Besides them, each piece of work
// of making the data is noted by its label when it is done.
const (
	wantNote = "want" // what is being made
	madeNote = "made" // and all of it is there
	usedNote = "used"
)

// made says which data lies in a database.
func (d *store) made(seed uint64) string {
	return fmt.Sprintf("1: %s, %d B, %d reviews, seed %d", d.Mode, d.Size, d.PerProduct, seed)
}

// notes are what a database says about itself; nil where it does not exist, or has
// nothing to say.
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

// Prepare has the data there, as new where each trial is to begin so. Data that was
// begun is gone on with.
func (d *store) Prepare(ctx context.Context, env workload.Env) error {
	at, err := targets(env)
	if err != nil {
		return err
	}
	return postgres.Each(ctx, at, func(ctx context.Context, _ int, at postgres.Place) error {
		if err := d.prepare(ctx, at, env.Seed); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

func (d *store) prepare(ctx context.Context, at postgres.Place, seed uint64) error {
	want := d.made(seed)
	first := database
	if d.Reset {
		first = template
	}
	there, err := notes(ctx, at, first)
	if err != nil {
		return err
	}
	if there[wantNote] != want {
		if err := remove(ctx, at); err != nil {
			return err
		}
		if err := create(ctx, at, first, want); err != nil {
			return fmt.Errorf("make the database %s at %s: %w", first, at.Address, err)
		}
		there = nil
	}
	if there[madeNote] == "" {
		if err := d.make(ctx, at, first, seed); err != nil {
			return fmt.Errorf("fill the database %s at %s: %w", first, at.Address, err)
		}
	}
	if !d.Reset {
		return nil
	}
	there, err = notes(ctx, at, database)
	if err != nil || there[wantNote] == want && there[madeNote] != "" && there[usedNote] == "" {
		return err
	}
	return renew(ctx, at)
}

// renew makes the database that is worked on, as the other one is.
func renew(ctx context.Context, at postgres.Place) error {
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

// remove removes both databases.
func remove(ctx context.Context, at postgres.Place) error {
	s, err := postgres.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	for _, name := range []string{database, template} {
		if err := s.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("remove the database %s: %w", name, err)
		}
	}
	return nil
}

// Clean removes the databases. A server that is gone holds none.
func (d *store) Clean(ctx context.Context, env workload.Env) error {
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
		if err := remove(ctx, at); err != nil && !postgres.Gone(err) {
			return err
		}
		return nil
	})
}

// create makes a database with empty tables.
func create(ctx context.Context, at postgres.Place, name, want string) error {
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
	return inside.Exec(ctx, tables+"INSERT INTO plimsoll VALUES ('"+wantNote+"', '"+want+"')")
}

// job is a piece of work that one session does by itself, in one transaction.
type job struct {
	label string
	do    func(ctx context.Context, s *postgres.Conn) error
}

func sqlJob(label string, statements ...string) job {
	return job{label, func(ctx context.Context, s *postgres.Conn) error {
		for _, sql := range statements {
			if err := s.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}}
}

// make fills a database, from where it was left.
func (d *store) make(ctx context.Context, at postgres.Place, name string, seed uint64) error {
	there, err := notes(ctx, at, name)
	if err != nil {
		return err
	}
	left := func(all []job) []job {
		return slices.DeleteFunc(all, func(j job) bool { return there[j.label] != "" })
	}
	if err := d.together(ctx, at, name, left(d.copies(seed))); err != nil {
		return err
	}
	var indexes []job
	for _, table := range slices.Sorted(maps.Keys(keys)) {
		indexes = append(indexes, sqlJob("keys of "+table, keys[table]...))
	}
	if err := d.together(ctx, at, name, left(indexes)); err != nil {
		return err
	}
	var last []string
	last = append(append(last, references...), functions(d.Mode))
	for _, table := range slices.Sorted(maps.Keys(counters)) {
		column := counters[table]
		last = append(last, fmt.Sprintf("CREATE SEQUENCE %[1]s_%[2]s_seq OWNED BY %[1]s.%[2]s; ALTER TABLE %[1]s ALTER %[2]s SET DEFAULT nextval('%[1]s_%[2]s_seq'); "+
			"SELECT setval('%[1]s_%[2]s_seq', coalesce((SELECT max(%[2]s) FROM %[1]s), 0) + 1, false)", table, column))
	}
	if err := d.together(ctx, at, name, left([]job{sqlJob("references", last...)})); err != nil {
		return err
	}
	s, err := postgres.Dial(ctx, at, name)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, sql := range []string{"VACUUM ANALYZE", "CHECKPOINT", "INSERT INTO plimsoll VALUES ('" + madeNote + "', 'yes')"} {
		if err := s.Exec(ctx, sql); err != nil && !(sql == "CHECKPOINT" && postgres.Forbidden(err)) {
			return err
		}
	}
	return nil
}

// copies are the pieces of all tables.
func (d *store) copies(seed uint64) []job {
	var all []job
	for _, t := range filled {
		for n := range t.pieces(d.size()) {
			all = append(all, job{t.label(n), func(ctx context.Context, s *postgres.Conn) error {
				return s.Copy(ctx, "COPY "+t.name+" FROM STDIN", t.fill(d.size(), seed, n))
			}})
		}
	}
	return all
}

// together does jobs in several sessions. The first error ends all.
func (d *store) together(ctx context.Context, at postgres.Place, name string, jobs []job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan job)
	var busy sync.WaitGroup
	for range min(d.Loaders, len(jobs)) {
		busy.Go(func() {
			s, err := postgres.Dial(ctx, at, name)
			if err != nil {
				cancel(err)
				return
			}
			defer s.Close()
			for j := range todo {
				if err := j.whole(ctx, s); err != nil {
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

// whole does a job and notes that it is done, both or neither.
func (j job) whole(ctx context.Context, s *postgres.Conn) error {
	if err := s.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := j.do(ctx, s); err != nil {
		return fmt.Errorf("%s: %w", j.label, err)
	}
	return s.Exec(ctx, "INSERT INTO plimsoll VALUES ('"+j.label+"', 'yes'); COMMIT")
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
