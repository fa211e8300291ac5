package brokerage

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/dialogue"
	"plimsoll/internal/workload/engine/transact"
)

func (k *brokerage) data(protocol string, seed uint64) dataset.Set {
	tables, keys := schema(protocol)
	d := dataset.Set{
		Name: database, Note: fmt.Sprintf("3: %d customers, %d days, seed %d", k.Customers, k.Days, seed),
		Reset: k.Reset, Loaders: k.Loaders, Tables: tables, Fill: fills(protocol, k.size(), seed), Keys: keys, Programs: firsts,
	}
	if protocol == engine.MariaDB {
		d.Undo = undo(k.size(), seed)
	}
	return d
}

func (k *brokerage) load() transact.Load {
	return transact.Load{Name: "brokerage", Database: database, Data: k.data, Offer: k.offer, Connections: k.Connections}
}

// Prepare has the data there, as new where each trial is to begin so.
func (k *brokerage) Prepare(ctx context.Context, env workload.Env) error {
	return k.load().Prepare(ctx, env)
}

// Clean removes the databases.
func (k *brokerage) Clean(ctx context.Context, env workload.Env) error {
	return k.load().Clean(ctx, env)
}

type (
	trial  = transact.Trial[tally, stock]
	course = transact.Running[tally, stock]
)

// Run runs transactions until stage.Length or until the recorder has enough, and then
// inspects the data.
func (k *brokerage) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	c, err := k.trial(trial{Env: env, Stage: stage, Out: out}).Run(ctx)
	if err != nil {
		return err
	}
	return k.conclude(ctx, c, out)
}

func (k *brokerage) trial(t trial) trial {
	t.Load, t.Job = k.load(), k.job
	t.Before = func(ctx context.Context, s engine.Conn) (stock, error) {
		if err := k.readBack(ctx, s, t.Out); err != nil {
			return stock{}, err
		}
		return k.stock(ctx, s)
	}
	return t
}

// stock is how many trades there are beside the first ones, and how many brokers count as
// completed.
type stock struct{ placed, completed int64 }

func (k *brokerage) stock(ctx context.Context, s engine.Conn) (n stock, err error) {
	rows, err := s.Query(ctx, fmt.Sprintf("SELECT (SELECT count(*) FROM trade WHERE t_id > %d), (SELECT sum(b_num_trades) FROM broker)", k.size().trades()))
	if err != nil {
		return n, fmt.Errorf("count the trades: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 2 {
		return n, errors.New("count the trades: the response has no number")
	}
	if n.placed, err = strconv.ParseInt(rows[0][0], 10, 64); err == nil {
		n.completed, err = strconv.ParseInt(rows[0][1], 10, 64)
	}
	return n, err
}

// both are those of two servers.
func (n stock) both(o stock) stock { return stock{n.placed + o.placed, n.completed + o.completed} }

// readBack records the size of the data and the isolation of the load's sessions.
func (k *brokerage) readBack(ctx context.Context, s engine.Conn, out *measure.Recorder) error {
	apart := "current_setting('default_transaction_isolation')"
	if engine.Speaks(s) == engine.MariaDB {
		apart = "lower(replace(@@tx_isolation, '-', ' '))"
	}
	rows, err := s.Query(ctx, engine.Isolate(engine.Speaks(s), k.Isolation)+"; SELECT (SELECT count(*) FROM customer), (SELECT count(*) FROM security), "+apart)
	if err != nil {
		return fmt.Errorf("inspect the data of brokerage: %w", err)
	}
	if len(rows) == 1 && len(rows[0]) == 3 {
		for i, name := range []string{"customers", "securities", "isolation"} {
			out.Observe("brokerage."+name, rows[0][i])
		}
	}
	return nil
}

// job is the load for the load core.
func (k *brokerage) job(c *course) load.Job {
	statements := statementBook(c.At[0].Protocol)
	return load.Job{
		Window: 1, Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			t := c.Ledger.Sheet()
			d := &connectionScript{source: newSource(c.Seed(), uint64(number)^0x62726f6b6572), z: k.size(), tally: t, session: statements.Session(c.Account, k.Isolation)}
			return dialogue.New(dialogue.Setup{Session: d.session, Book: statements, Window: 1, Retries: k.Retries, Count: &t.Count}, d)
		},
	}
}

// conclude records the totals of the load and the state of the data.
func (k *brokerage) conclude(ctx context.Context, c *course, out *measure.Recorder) error {
	sum := sum(&c.Ledger)
	out.Check(sum.check())
	if all := sum.all(); all > 0 {
		out.Value("retries", float64(sum.Retries)/float64(all))
	}
	if feeds := sum.done[marketFeed]; feeds > 0 {
		out.Value("hits", float64(sum.hits)/float64(feeds))
	}
	if err := c.Report(ctx, sum.Count); err != nil {
		return err
	}
	left, err := transact.After(ctx, c, k.look)
	if err != nil {
		return err
	}
	var before, now stock
	checks := make([]measure.Check, len(left))
	for number, n := range left {
		before, now, checks[number] = before.both(c.Before[number]), now.both(n.stock), n.check
	}
	out.Check(sum.counted(now, before))
	if k.Verify {
		out.Check(dataset.Worst(checks))
	}
	return nil
}

// after is the state of a server's data after a load.
type after struct {
	stock
	check measure.Check // of its consistency, where that is looked at
}

func (k *brokerage) look(ctx context.Context, s engine.Conn) (now after, err error) {
	if now.stock, err = k.stock(ctx, s); err == nil && k.Verify {
		now.check, err = k.consistent(ctx, s)
	}
	return now, err
}
