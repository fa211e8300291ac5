package brokerage

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/dataset"
	"plimsoll/internal/engine/dialogue"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
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

// Prepare has the data there, as new where each trial is to begin so.
func (k *brokerage) Prepare(ctx context.Context, env workload.Env) error {
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	return k.data(at[0].Protocol, env.Seed).Prepare(ctx, at)
}

// Clean removes the databases. A server that is gone holds none.
func (k *brokerage) Clean(ctx context.Context, env workload.Env) error {
	return dataset.Set{Name: database}.Clean(ctx, env.Target, env.Dial)
}

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks at what they left behind.
func (k *brokerage) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	before, err := k.begin(ctx, at, env.Seed, out)
	if err != nil {
		return err
	}
	l := &load.Ledger[tally]{}
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

func (k *brokerage) stock(ctx context.Context, s engine.Conn) (n stock, err error) {
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

// both are those of two servers.
func (n stock) both(o stock) stock { return stock{n.placed + o.placed, n.completed + o.completed} }

// begin notes that the data is not as new any more, and reads back what it is.
func (k *brokerage) begin(ctx context.Context, at []engine.Server, seed uint64, out *measure.Recorder) (sum stock, err error) {
	stocks, err := engine.Gather(ctx, at, database, func(ctx context.Context, s engine.Conn) (stock, error) {
		if err := k.data(engine.Speaks(s), seed).Holds(ctx, s); err != nil {
			return stock{}, err
		}
		if err := dataset.Use(ctx, s); err != nil {
			return stock{}, err
		}
		if err := k.readBack(ctx, s, out); err != nil {
			return stock{}, err
		}
		return k.stock(ctx, s)
	})
	for _, n := range stocks {
		sum = sum.both(n)
	}
	return sum, err
}

// readBack notes what the data is, and how a session of the load is kept apart.
func (k *brokerage) readBack(ctx context.Context, s engine.Conn, out *measure.Recorder) error {
	apart := "current_setting('default_transaction_isolation')"
	if engine.Speaks(s) == engine.MariaDB {
		apart = "lower(replace(@@tx_isolation, '-', ' '))"
	}
	rows, err := s.Query(ctx, engine.Isolate(engine.Speaks(s), k.Isolation)+"; SELECT (SELECT count(*) FROM customer), (SELECT count(*) FROM security), "+apart)
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

// job is the load for the load core.
func (k *brokerage) job(at []engine.Server, stage load.Stage, l *load.Ledger[tally]) (load.Job, error) {
	who, err := at[0].Account(database)
	if err != nil {
		return load.Job{}, err
	}
	statements := statementBook(at[0].Protocol)
	return engine.Aim(k.offer.Paced(load.Job{
		Stage: stage, Connections: k.Connections, Window: 1, Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			t := l.Sheet()
			d := &desk{source: newSource(stage.Seed, uint64(number)^0x62726f6b6572), z: k.size(), tally: t, session: statements.Session(who, k.Isolation)}
			return dialogue.New(dialogue.Setup{Session: d.session, Book: statements, Window: 1, Retries: k.Retries, Count: &t.Count}, d)
		},
	}), at), nil
}

// conclusion is what is known when the load is over.
type conclusion struct {
	env    workload.Env
	at     []engine.Server
	ledger *load.Ledger[tally]
	before stock
}

// conclude takes down what was asked for, and what is there now.
func (k *brokerage) conclude(ctx context.Context, c conclusion, out *measure.Recorder) error {
	sum := sum(c.ledger)
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
	out.Observe("brokerage.connections", strconv.Itoa(min(c.ledger.Made()/len(c.at), k.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	left, err := engine.GatherAfter(ctx, c.at, database, k.look)
	if err != nil {
		return fmt.Errorf("look at the data after the load: %w", err)
	}
	var now stock
	checks := make([]measure.Check, len(left))
	for number, n := range left {
		now, checks[number] = now.both(n.stock), n.check
	}
	out.Check(sum.counted(now, c.before))
	if k.Verify {
		out.Check(dataset.Worst(checks))
	}
	return nil
}

// after is what a load left behind at a server.
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
