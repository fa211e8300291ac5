package dvdstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/engine/dataset"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// before is what was there when a load began.
type before struct {
	counts counts
	state  *state // nil where that is not looked at, or takes too long
}

// Run runs the shop until stage.Length or until the recorder has enough, and then looks
// at what it left behind.
func (d *store) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := engine.Servers(env.Target, env.Dial)
	if err != nil {
		return err
	}
	was, err := d.begin(ctx, at, env.Seed, out)
	if err != nil {
		return err
	}
	l := &load.Ledger[tally]{}
	job, err := d.job(at, stage, l, was)
	if err != nil {
		return err
	}
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	return d.conclude(ctx, conclusion{env: env, at: at, ledger: l, before: was}, out)
}

// begin notes that the data is not as new any more, and takes down what it is at each server.
func (d *store) begin(ctx context.Context, at []engine.Server, seed uint64, out *measure.Recorder) ([]before, error) {
	out.Observe("dvdstore.products", strconv.Itoa(d.size().products))
	return engine.Gather(ctx, at, database, func(ctx context.Context, s engine.Conn) (was before, err error) {
		if err := d.data(engine.Speaks(s), seed).Holds(ctx, s); err != nil {
			return was, err
		}
		if err := dataset.Use(ctx, s); err != nil {
			return was, err
		}
		may, err := counting(ctx, s)
		if err != nil {
			return was, err
		}
		if was.counts, err = counted(ctx, s); err != nil {
			return was, err
		}
		was.counts.apart = was.counts.apart && may
		if d.Verify {
			was.state, err = d.size().look(ctx, s)
		}
		return was, err
	})
}

// job is the load for the load core.
func (d *store) job(at []engine.Server, stage load.Stage, l *load.Ledger[tally], was []before) (load.Job, error) {
	who, err := at[0].Account(database)
	if err != nil {
		return load.Job{}, err
	}
	first := ""
	if protocol := at[0].Protocol; protocol == engine.PostgreSQL {
		first = d.size().warm()
		if !slices.ContainsFunc(was, func(b before) bool { return !b.counts.apart }) {
			first += count
		}
	}
	var clock func() time.Time
	if d.Rate == 0 {
		clock = time.Now
	}
	statements := book(at[0].Protocol)
	return engine.Aim(d.offer.Paced(load.Job{
		Stage: stage, Think: load.Think{Uniform: true},
		Connections: d.Connections,
		Classes:     names[:],
		Dialogue: func(number int) load.Dialogue {
			return newDialogue(&script{
				shopper: shopper{store: d, source: &source{*rand.NewPCG(stage.Seed, uint64(number)^0x647664)}, z: d.size()},
				session: engine.NewSession(who, first, statements.Book), tally: l.Sheet(), clock: clock,
			}, statements)
		},
	}), at), nil
}

// conclusion is what is known when the load is over.
type conclusion struct {
	env    workload.Env
	at     []engine.Server
	ledger *load.Ledger[tally]
	before []before
}

// conclude takes down what was asked for, and what is there now.
func (d *store) conclude(ctx context.Context, c conclusion, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.ledger.Sheets() {
		sum.add(t)
	}
	if sum.Troubles > 0 && c.env.Log != nil {
		c.env.Log("%d calls failed, the first with: %s", sum.Troubles, sum.Why)
	}
	sum.values(out)
	out.Check(sum.mixed(d))
	out.Observe("dvdstore.connections", strconv.Itoa(min(c.ledger.Made()/len(c.at), d.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	check, err := sum.statistics(ctx, c)
	if err != nil {
		return err
	}
	out.Check(check)
	if !d.Verify {
		return nil
	}
	grown, err := d.grown(ctx, c)
	if err != nil {
		return err
	}
	if grown == nil {
		out.Check(measure.Check{Name: "data", Kind: measure.KindData, State: measure.Unknown, Detail: "to count the rows takes longer than " + dataset.EnoughTime.String()})
		return nil
	}
	if pieces := grown[linePieces]; pieces > 0 {
		out.Value("lost_sales", 1-float64(grown[soldPieces])/float64(pieces))
	}
	out.Check(sum.kept(d, *grown))
	return nil
}

// grown is by how much the data of all servers has grown; nil where that takes too long to
// tell.
func (d *store) grown(ctx context.Context, c conclusion) (*state, error) {
	now, err := engine.GatherAfter(ctx, c.at, database, d.size().look)
	if err != nil {
		return nil, fmt.Errorf("look at the data after the load: %w", err)
	}
	var grown state
	for number, was := range c.before {
		if was.state == nil || now[number] == nil {
			return nil, nil
		}
		for k := range grown {
			grown[k] += now[number][k] - was.state[k]
		}
	}
	return &grown, nil
}

// values are the metrics that the load core does not know.
func (t *tally) values(out *measure.Recorder) {
	ratio := func(name string, part, of int64) {
		if of > 0 {
			out.Value(name, float64(part)/float64(of))
		}
	}
	var done int64
	for _, n := range t.done {
		done += n
	}
	ratio("calls_per_order", done, t.done[purchase])
	ratio("short", t.short, t.done[purchase])
	ratio("found", t.found, t.looked)
	ratio("retries", t.Retries+t.taken, done)
	if t.orders > 0 {
		out.Value("order.mean", t.total.Seconds()/float64(t.orders))
		out.Value("order.max", t.longest.Seconds())
	}
}
