package dataset

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/workload/engine"
)

// place is a database of a server.
type place struct {
	engine.Server
	name string
}

func (p place) dial(ctx context.Context) (engine.Conn, error) {
	return engine.Dial(ctx, p.Server, p.name)
}

// create makes a database with empty tables.
func (d Set) create(ctx context.Context, at engine.Server, name string) error {
	s, err := engine.Dial(ctx, at, "")
	if err != nil {
		return err
	}
	defer s.Close()
	how := ""
	if at.Protocol == engine.MariaDB && !d.Usual {
		how = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin" // as PostgreSQL compares
	}
	if err := s.Exec(ctx, "CREATE DATABASE "+name+how); err != nil {
		return err
	}
	inside, err := engine.Dial(ctx, at, name)
	if err != nil {
		return err
	}
	defer inside.Close()
	return inside.Exec(ctx, notebook+strings.TrimRight(d.Tables, "; \n")+";"+note(wantNote, d.Note))
}

// make loads the tables of a database, resuming an interrupted load.
func (d Set) make(ctx context.Context, at place, fill []Job) error {
	done, err := notes(ctx, at.Server, at.name)
	if err != nil {
		return err
	}
	jobs := func(what string, all []string) (list []Job) {
		for n, sql := range all {
			list = append(list, SQL(what+" "+strconv.Itoa(n+1), sql))
		}
		return list
	}
	if err := d.together(ctx, at, left(fill, done)); err != nil {
		return err
	}
	if err := d.together(ctx, at, left(jobs("key", d.Keys), done)); err != nil {
		return err
	}
	s, err := at.dial(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	for _, j := range left(jobs("program", d.Programs), done) {
		if err := j.whole(ctx, s); err != nil {
			return err
		}
	}
	if err := settle(ctx, s); err != nil {
		return err
	}
	return s.Exec(ctx, note(madeNote, "yes"))
}

// left are the jobs that are not done.
func left(all []Job, done map[string]string) (list []Job) {
	for _, j := range all {
		if done[j.Label] == "" {
			j.from = done[progress(j.Label)]
			list = append(list, j)
		}
	}
	return list
}

// whole executes a job and records it in one transaction. On MariaDB, DDL commits implicitly.
func (j Job) whole(ctx context.Context, s engine.Conn) error {
	if j.rows != nil {
		return j.fill(ctx, s)
	}
	if err := s.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := j.Do(ctx, s); err != nil {
		return err
	}
	return s.Exec(ctx, note(j.Label, "yes")+"; COMMIT")
}

// patient removes timeouts of a MariaDB session: only one session at a time may fill an
// auto-increment table unless innodb_autoinc_lock_mode is 2, and the server closes a session
// that sends nothing for 30 s.
func patient(ctx context.Context, s engine.Conn) error {
	if engine.Speaks(s) != engine.MariaDB {
		return nil
	}
	return s.Exec(ctx, "SET innodb_lock_wait_timeout = 1000000, net_read_timeout = 1000000")
}

// together executes jobs in several sessions. The first error cancels the rest.
func (d Set) together(ctx context.Context, at place, jobs []Job) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	todo := make(chan Job, len(jobs))
	for _, j := range jobs {
		todo <- j
	}
	close(todo)
	var busy sync.WaitGroup
	for range min(max(1, d.Loaders), len(jobs)) {
		busy.Go(func() {
			s, err := at.dial(ctx)
			if err != nil {
				cancel(err)
				return
			}
			defer s.Close()
			if err := patient(ctx, s); err != nil {
				cancel(err)
				return
			}
			for j := range todo {
				if ctx.Err() != nil {
					return
				}
				if err := j.whole(ctx, s); err != nil {
					cancel(fmt.Errorf("%s: %w", j.Label, err))
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
