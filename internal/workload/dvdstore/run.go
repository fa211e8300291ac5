package dvdstore

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/engine/transact"
)

// before is the state at the start of a load.
type before struct {
	counts counts
	state  *state // nil where that is not looked at, or takes too long
}

type (
	trial  = transact.Trial[tally, before]
	course = transact.Running[tally, before]
)

// Run runs the shop until stage.Length or until the recorder has enough, and then inspects
// the data.
func (d *store) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	c, err := d.trial(trial{Env: env, Stage: stage, Out: out}).Run(ctx)
	if err != nil {
		return err
	}
	return d.conclude(ctx, c, out)
}

func (d *store) trial(t trial) trial {
	t.Load, t.Job, t.Before = d.load(), d.job, d.before
	t.Out.Observe("dvdstore.products", strconv.Itoa(d.size().products))
	return t
}

// before records the counts of a server and the state of its data.
func (d *store) before(ctx context.Context, s engine.Conn) (was before, err error) {
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
}

// job is the load for the load core.
func (d *store) job(c *course) load.Job {
	first := ""
	if c.At[0].Protocol == engine.PostgreSQL {
		first = d.size().warm()
		if !slices.ContainsFunc(c.Before, func(b before) bool { return !b.counts.apart }) {
			first += count
		}
	}
	var clock func() time.Time
	if d.Rate == 0 {
		clock = time.Now
	}
	statements := book(c.At[0].Protocol)
	return load.Job{
		Think: load.Think{Uniform: true}, Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			return newDialogue(&script{
				shopper: shopper{Parameters: d.Parameters, source: &source{*rand.NewPCG(c.Seed(), uint64(number)^0x647664)}, z: d.size()},
				session: engine.NewSession(c.Account, first, statements.Statements), tally: c.Ledger.Sheet(), clock: clock,
			}, statements)
		},
	}
}

// conclude records the totals of the load and the state of the data.
func (d *store) conclude(ctx context.Context, c *course, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.Ledger.Sheets() {
		sum.add(t)
	}
	sum.values(out)
	out.Check(sum.mixed(d))
	if err := c.Report(ctx, sum.Count); err != nil {
		return err
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

// grown is the growth of the data of all servers; nil where a count would take too long.
func (d *store) grown(ctx context.Context, c *course) (*state, error) {
	now, err := transact.After(ctx, c, d.size().look)
	if err != nil {
		return nil, err
	}
	var grown state
	for number, was := range c.Before {
		if was.state == nil || now[number] == nil {
			return nil, nil
		}
		for k := range grown {
			grown[k] += now[number][k] - was.state[k]
		}
	}
	return &grown, nil
}

// values are the metrics that the load core lacks.
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
