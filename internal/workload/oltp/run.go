package oltp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/dataset"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks that no row is lost.
func (o *oltp) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	who, err := at[0].Account(database)
	if err != nil {
		return err
	}
	if err := engine.Each(ctx, at, func(ctx context.Context, _ int, at engine.Server) error { return o.holds(ctx, at, env.Seed) }); err != nil {
		return err
	}
	l, statements := &load.Ledger[tally]{}, newBook(at[0].Protocol, o.Parameters)
	job := engine.Aim(o.offer.Paced(load.Job{
		Stage: stage, Connections: o.Connections,
		Dialogue: func(number int) load.Dialogue {
			return newDialogue(&script{
				oltp: o, source: &source{*rand.NewPCG(stage.Seed, uint64(number)^0x6f6c7470)}, book: statements,
				session: statements.Session(who, ""), tally: l.Sheet(),
			})
		},
	}), at)
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	return o.conclude(ctx, at, l, out, env)
}

// holds looks that the data is there, so that a load without any ends before it begins.
func (o *oltp) holds(ctx context.Context, at engine.Server, seed uint64) error {
	there, err := o.note(ctx, at)
	if err == nil && there != o.made(seed) {
		err = fmt.Errorf("the database %s at %s does not contain the prepared data: it was changed since", database, at.Address)
	}
	return err
}

// conclude takes down what came of the load, and what is there now.
func (o *oltp) conclude(ctx context.Context, at []engine.Server, l *load.Ledger[tally], out *measure.Recorder, env workload.Env) error {
	var sum tally
	for _, t := range l.Sheets() {
		sum.Add(t.Count)
		sum.done += t.done
	}
	if sum.Troubles > 0 && env.Log != nil {
		env.Log("%d transactions failed, the first with: %s", sum.Troubles, sum.Why)
	}
	out.Value("statements", float64(len(plan(o.Test))))
	if sum.done > 0 {
		out.Value("retries", float64(sum.Retries)/float64(sum.done))
	}
	out.Observe("oltp.connections", strconv.Itoa(min(l.Made()/len(at), o.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	checks, err := engine.GatherAfter(ctx, at, database, o.whole)
	if err != nil {
		return fmt.Errorf("look at the data after the load: %w", err)
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
