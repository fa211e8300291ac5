package brokerage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dataset"
	"plimsoll/internal/postgres/dialogue"
	"plimsoll/internal/workload"
)

// targets are where the servers listen.
func targets(env workload.Env) ([]postgres.Place, error) {
	if env.Target == nil {
		return nil, errors.New("the workload brokerage needs a database: name the service postgresql in the study")
	}
	at, err := env.Target(protocol)
	if err != nil {
		return nil, fmt.Errorf("find a database: %w", err)
	}
	return postgres.Places(at, env.Dial)
}

func (k *brokerage) data(seed uint64) dataset.Set {
	return dataset.Set{
		Name: database, Note: fmt.Sprintf("1: %d customers, %d days, seed %d", k.Customers, k.Days, seed),
		Reset: k.Reset, Loaders: k.Loaders, Tables: tables, Fill: fills(k.size(), seed), Keys: keys,
	}
}

// Prepare has the data there, as new where each trial is to begin so.
func (k *brokerage) Prepare(ctx context.Context, env workload.Env) error {
	at, err := targets(env)
	if err != nil {
		return err
	}
	return postgres.Each(ctx, at, func(ctx context.Context, _ int, at postgres.Place) error {
		if err := k.data(env.Seed).Prepare(ctx, at); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

// Clean removes the databases. A server that is gone holds none.
func (k *brokerage) Clean(ctx context.Context, env workload.Env) error {
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
		if err := (dataset.Set{Name: database}).Remove(ctx, at); err != nil && !postgres.Gone(err) {
			return err
		}
		return nil
	})
}

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks at what they left behind.
func (k *brokerage) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := targets(env)
	if err != nil {
		return err
	}
	before, err := k.begin(ctx, at, out)
	if err != nil {
		return err
	}
	l := &ledger{}
	job, err := k.job(at, stage, l)
	if err != nil {
		return err
	}
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	return k.conclude(ctx, conclusion{env: env, at: at, ledger: l, before: before}, out)
}

// stock is how many trades there are beside the first ones, and how many brokers count as
// completed.
type stock struct{ placed, completed int64 }

func (k *brokerage) stock(ctx context.Context, s *postgres.Conn) (n stock, err error) {
	rows, err := s.Query(ctx, fmt.Sprintf("SELECT (SELECT count(*) FROM trade WHERE t_id > %d), (SELECT sum(b_num_trades) FROM broker)", k.size().trades()))
	if err != nil {
		return n, fmt.Errorf("count the trades: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return n, errors.New("count the trades: the database does not tell what it holds")
	}
	if n.placed, err = strconv.ParseInt(rows[0][0], 10, 64); err == nil {
		n.completed, err = strconv.ParseInt(rows[0][1], 10, 64)
	}
	return n, err
}

// begin notes that the data is not as new any more, and reads back what it is.
func (k *brokerage) begin(ctx context.Context, at []postgres.Place, out *measure.Recorder) (sum stock, err error) {
	stocks := make([]stock, len(at))
	err = postgres.Each(ctx, at, func(ctx context.Context, number int, at postgres.Place) error {
		s, err := postgres.Dial(ctx, at, database)
		if err != nil {
			return err
		}
		defer s.Close()
		if err := dataset.Use(ctx, s); err != nil {
			return err
		}
		if stocks[number], err = k.stock(ctx, s); err != nil {
			return err
		}
		return k.readBack(ctx, s, out)
	})
	for _, n := range stocks {
		sum.placed += n.placed
		sum.completed += n.completed
	}
	return sum, err
}

// readBack notes what the data is, and how a session of the load is kept apart.
func (k *brokerage) readBack(ctx context.Context, s *postgres.Conn, out *measure.Recorder) error {
	rows, err := s.Query(ctx, k.isolate()+"; SELECT (SELECT count(*) FROM customer), (SELECT count(*) FROM security), current_setting('default_transaction_isolation')")
	if err != nil {
		return fmt.Errorf("look at the data of brokerage: %w", err)
	}
	if len(rows) == 1 && len(rows[0]) == 3 {
		for i, name := range []string{"customers", "securities", "isolation"} {
			out.Observe("brokerage."+name, rows[0][i])
		}
	}
	return nil
}

// isolate is what a session begins with.
func (k *brokerage) isolate() string {
	return "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + k.Isolation
}

// job is the load for the load core.
func (k *brokerage) job(at []postgres.Place, stage load.Stage, l *ledger) (load.Job, error) {
	who, err := at[0].Account(database)
	if err != nil {
		return load.Job{}, err
	}
	return load.Job{
		Stage: stage, Network: at[0].Network, Address: at[0].Address, More: postgres.Further(at),
		Arrivals: k.arrivals, Connections: k.Connections, Window: 1, Threads: k.Threads,
		Tick: time.Duration(k.Tick), Timeout: time.Duration(k.Timeout), MaxLag: time.Duration(k.MaxLag),
		Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			t := l.sheet()
			d := &desk{source: newSource(stage.Seed, uint64(number)^0x62726f6b6572), z: k.size(), tally: t}
			return dialogue.New(dialogue.Setup{Session: postgres.NewSession(who, k.isolate(), statements()), Window: 1, Retries: k.Retries, Count: &t.Count}, d)
		},
	}, nil
}

// conclusion is what is known when the load is over.
type conclusion struct {
	env    workload.Env
	at     []postgres.Place
	ledger *ledger
	before stock
}

// conclude takes down what was asked for, and what is there now.
func (k *brokerage) conclude(ctx context.Context, c conclusion, out *measure.Recorder) error {
	sum := c.ledger.sum()
	if sum.Troubles > 0 && c.env.Log != nil {
		c.env.Log("the database refused %d transactions, the first with: %s", sum.Troubles, sum.Why)
	}
	out.Check(sum.check())
	if all := sum.all(); all > 0 {
		out.Value("retries", float64(sum.Retries)/float64(all))
	}
	if feeds := sum.done[marketFeed]; feeds > 0 {
		out.Value("hits", float64(sum.hits)/float64(feeds))
	}
	out.Observe("brokerage.connections", strconv.Itoa(min(c.ledger.made/len(c.at), k.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	stocks, checks := make([]stock, len(c.at)), make([]measure.Check, len(c.at))
	if err := postgres.Each(ctx, c.at, func(ctx context.Context, number int, at postgres.Place) error {
		s, err := postgres.Dial(ctx, at, database)
		if err != nil {
			return fmt.Errorf("look at the data after the load: %w", err)
		}
		defer s.Close()
		if stocks[number], err = k.stock(ctx, s); err != nil || !k.Verify {
			return err
		}
		checks[number], err = consistent(ctx, s, enoughTime)
		return err
	}); err != nil {
		return err
	}
	var now stock
	worst := checks[0]
	for number, c := range checks {
		now.placed += stocks[number].placed
		now.completed += stocks[number].completed
		if c.State != measure.Pass && worst.State != measure.Fail {
			worst = c
			if len(checks) > 1 {
				worst.Detail = fmt.Sprintf("server %d: %s", number+1, c.Detail)
			}
		}
	}
	out.Check(sum.counted(now, c.before))
	if k.Verify {
		out.Check(worst)
	}
	return nil
}
