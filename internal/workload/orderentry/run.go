package orderentry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/dataset"
	"plimsoll/internal/engine/dialogue"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks at what they left behind.
func (o *orderEntry) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	before, err := o.begin(ctx, at, env.Seed, out)
	if err != nil {
		return err
	}
	l := &load.Ledger[tally]{}
	job, err := o.job(at, stage, l)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	return o.conclude(ctx, conclusion{env: env, at: at, ledger: l, before: before, took: time.Since(began)}, out)
}

// counted is what the districts of a server count.
type counted struct {
	orders    int64
	paid      int64 // hundredths
	delivered int64 // orders
}

// count asks a server for what its districts count.
func count(ctx context.Context, s engine.Conn) (c counted, err error) {
	rows, err := s.Query(ctx, "SELECT sum(d_next_o_id), sum(d_ytd) * 100, sum(d_next_o_id) - (SELECT count(*) FROM new_order) FROM district")
	if err != nil {
		return c, fmt.Errorf("read D_NEXT_O_ID and D_YTD: %w", err)
	}
	for i, to := range []*int64{&c.orders, &c.paid, &c.delivered} {
		whole, _, _ := strings.Cut(rows[0][i], ".")
		if *to, err = strconv.ParseInt(whole, 10, 64); err != nil {
			return c, fmt.Errorf("read D_NEXT_O_ID and D_YTD: %w", err)
		}
	}
	return c, nil
}

// from is what was counted since there was less.
func (c counted) from(was counted) counted {
	return counted{c.orders - was.orders, c.paid - was.paid, c.delivered - was.delivered}
}

// and is what is counted at two servers.
func (c counted) and(o counted) counted {
	return counted{c.orders + o.orders, c.paid + o.paid, c.delivered + o.delivered}
}

// begin notes that the data is not as new any more, and takes down what it is at each server.
func (o *orderEntry) begin(ctx context.Context, at []engine.Server, seed uint64, out *measure.Recorder) ([]counted, error) {
	return engine.Gather(ctx, at, database, func(ctx context.Context, s engine.Conn) (counted, error) {
		if err := o.data(engine.Speaks(s), seed).Holds(ctx, s); err != nil {
			return counted{}, err
		}
		if err := dataset.Use(ctx, s); err != nil {
			return counted{}, err
		}
		if err := readBack(ctx, s, out); err != nil {
			return counted{}, err
		}
		return count(ctx, s)
	})
}

// readBack notes how large the data is.
func readBack(ctx context.Context, s engine.Conn, out *measure.Recorder) error {
	rows, err := s.Query(ctx, "SELECT (SELECT count(*) FROM warehouse), (SELECT count(*) FROM item), (SELECT count(*) FROM customer WHERE c_w_id = 1 AND c_d_id = 1)")
	if err != nil {
		return fmt.Errorf("look at the data of order-entry: %w", err)
	}
	for i, name := range []string{"warehouses", "items", "customers"} {
		out.Observe("order-entry."+name, rows[0][i])
	}
	return nil
}

// job is the load for the load core.
func (o *orderEntry) job(at []engine.Server, stage load.Stage, l *load.Ledger[tally]) (load.Job, error) {
	who, err := at[0].Account(database)
	if err != nil {
		return load.Job{}, err
	}
	book := dialogue.NewBook(at[0].Protocol, statements)
	return engine.Aim(o.offer.Paced(load.Job{
		Stage: stage, Think: load.Think{Mean: o.pause(), Exponential: true},
		Connections: o.Connections, Window: o.window,
		Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			t := &terminal{
				source:  &source{*rand.NewPCG(stage.Seed, uint64(number)^0x6f72646572), stage.Seed},
				Session: book.Session(who, o.Isolation), z: o.size(), tally: l.Sheet(),
			}
			if o.Home == "connection" {
				t.home = number%o.Warehouses + 1
			}
			return dialogue.New(dialogue.Setup{Session: t.Session, Book: book, Window: o.window, Retries: o.Retries, Count: &t.tally.Count}, t)
		},
	}), at), nil
}

// conclusion is what is known when the load is over.
type conclusion struct {
	env    workload.Env
	at     []engine.Server
	ledger *load.Ledger[tally]
	before []counted // at each server
	took   time.Duration
}

// conclude takes down what was asked for, and what is there now.
func (o *orderEntry) conclude(ctx context.Context, c conclusion, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.ledger.Sheets() {
		sum.add(t)
	}
	if sum.Troubles > 0 && c.env.Log != nil {
		c.env.Log("the database refused %d transactions, the first with: %s", sum.Troubles, sum.Why)
	}
	out.Check(sum.check(o.Warehouses))
	var all int64
	for _, n := range sum.done {
		all += n
	}
	if all > 0 {
		out.Value("retries", float64(sum.Retries)/float64(all))
	}
	if districts := sum.shipped + sum.skipped; districts > 0 {
		out.Value("skipped", float64(sum.skipped)/float64(districts))
	}
	out.Observe("order-entry.connections", strconv.Itoa(min(c.ledger.Made()/len(c.at), o.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	now, err := engine.GatherAfter(ctx, c.at, database, o.look)
	if err != nil {
		return fmt.Errorf("look at the data after the load: %w", err)
	}
	var grown counted
	checks := make([]measure.Check, len(now))
	for number, n := range now {
		grown = grown.and(n.from(c.before[number]))
		checks[number] = n.check
	}
	out.Value("district.new_orders", float64(grown.orders)/c.took.Seconds())
	out.Check(sum.ordered(grown.orders))
	out.Check(sum.settled(grown.paid))
	out.Check(sum.delivered(grown.delivered))
	if o.Verify {
		out.Check(dataset.Worst(checks))
	}
	return nil
}

// after is what a load left behind at a server.
type after struct {
	counted
	check measure.Check // of its consistency, where that is looked at
}

func (o *orderEntry) look(ctx context.Context, s engine.Conn) (now after, err error) {
	if now.counted, err = count(ctx, s); err == nil && o.Verify {
		now.check, err = dataset.Consistent(ctx, s, dataset.EnoughTime, conditions(o.size()))
	}
	return now, err
}
