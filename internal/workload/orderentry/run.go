package orderentry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/dialogue"
	"plimsoll/internal/workload/engine/transact"
)

type (
	trial  = transact.Trial[tally, counted]
	course = transact.Running[tally, counted]
)

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks at what they left behind.
func (o *orderEntry) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	c, err := o.trial(trial{Env: env, Stage: stage, Out: out}).Run(ctx)
	if err != nil {
		return err
	}
	return o.conclude(ctx, c, out)
}

func (o *orderEntry) trial(t trial) trial {
	t.Load, t.Job = o.load(), o.job
	t.Before = func(ctx context.Context, s engine.Conn) (counted, error) {
		if err := readBack(ctx, s, t.Out); err != nil {
			return counted{}, err
		}
		return count(ctx, s)
	}
	return t
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

// readBack notes how large the data is.
func readBack(ctx context.Context, s engine.Conn, out *measure.Recorder) error {
	rows, err := s.Query(ctx, "SELECT (SELECT count(*) FROM warehouse), (SELECT count(*) FROM item), (SELECT count(*) FROM customer WHERE c_w_id = 1 AND c_d_id = 1)")
	if err != nil {
		return fmt.Errorf("inspect the data of order-entry: %w", err)
	}
	for i, name := range []string{"warehouses", "items", "customers"} {
		out.Observe("order-entry."+name, rows[0][i])
	}
	return nil
}

// job is the load for the load core.
func (o *orderEntry) job(c *course) load.Job {
	book := dialogue.NewBook(c.At[0].Protocol, statements)
	return load.Job{
		Think: load.Think{Mean: o.pause(), Exponential: true}, Window: o.window, Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			t := &terminal{
				source:  &source{*rand.NewPCG(c.Seed(), uint64(number)^0x6f72646572), c.Seed()},
				Session: book.Session(c.Account, o.Isolation), z: o.size(), tally: c.Ledger.Sheet(),
			}
			if o.Home == "connection" {
				t.home = number%o.Warehouses + 1
			}
			return dialogue.New(dialogue.Setup{Session: t.Session, Book: book, Window: o.window, Retries: o.Retries, Count: &t.tally.Count}, t)
		},
	}
}

// conclude records the requests, and the final state.
func (o *orderEntry) conclude(ctx context.Context, c *course, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.Ledger.Sheets() {
		sum.add(t)
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
	if err := c.Report(ctx, sum.Count); err != nil {
		return err
	}
	now, err := transact.After(ctx, c, o.look)
	if err != nil {
		return err
	}
	var grown counted
	checks := make([]measure.Check, len(now))
	for number, n := range now {
		grown = grown.and(n.from(c.Before[number]))
		checks[number] = n.check
	}
	out.Value("district.new_orders", float64(grown.orders)/c.Took.Seconds())
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
