package oltp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/transact"
)

// nothing is read of the data before a load.
type nothing struct{}

type course = transact.Running[tally, nothing]

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks that no row is lost.
func (o *oltp) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	c, err := transact.Trial[tally, nothing]{
		Load: o.load(), Env: env, Stage: stage, Out: out, Job: o.job,
		Before: func(context.Context, engine.Conn) (nothing, error) { return nothing{}, nil },
	}.Run(ctx)
	if err != nil {
		return err
	}
	return o.conclude(ctx, c, out)
}

// job is the load for the load core.
func (o *oltp) job(c *course) load.Job {
	statements := newBook(c.At[0].Protocol, o.Parameters)
	return load.Job{Dialogue: func(number int) load.Dialogue {
		return newDialogue(&script{
			load: o, source: &source{*rand.NewPCG(c.Seed(), uint64(number)^0x6f6c7470)}, book: statements,
			session: statements.Session(c.Account, ""), tally: c.Ledger.Sheet(),
		})
	}}
}

// conclude records the results of the load, and the final state.
func (o *oltp) conclude(ctx context.Context, c *course, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.Ledger.Sheets() {
		sum.Add(t.Count)
		sum.done += t.done
	}
	out.Value("statements", float64(len(plan(o.Test))))
	if sum.done > 0 {
		out.Value("retries", float64(sum.Retries)/float64(sum.done))
	}
	if err := c.Report(ctx, sum.Count); err != nil {
		return err
	}
	checks, err := transact.After(ctx, c, o.whole)
	if err != nil {
		return err
	}
	out.Check(dataset.Worst(checks))
	out.Observe("oltp.tables", strconv.Itoa(o.Tables))
	out.Observe("oltp.rows", strconv.Itoa(o.Rows))
	return nil
}

// whole checks that the tables of a server have all of their rows.
func (o *oltp) whole(ctx context.Context, s engine.Conn) (measure.Check, error) {
	c := measure.Check{Name: "rows", Kind: measure.KindData, State: measure.Pass, Detail: fmt.Sprintf("each of %d tables has its %d rows", o.Tables, o.Rows)}
	for n := 1; n <= o.Tables; n++ {
		rows, err := s.Query(ctx, fmt.Sprintf("SELECT count(*) FROM sbtest%d", n))
		if err != nil {
			return c, fmt.Errorf("count the rows of sbtest%d: %w", n, err)
		}
		if rows[0][0] != strconv.Itoa(o.Rows) {
			c.State, c.Detail = measure.Fail, fmt.Sprintf("table sbtest%d has %s rows instead of %d", n, rows[0][0], o.Rows)
			break
		}
	}
	return c, nil
}
