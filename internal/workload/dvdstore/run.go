package dvdstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// ledger keeps the counts of all connections of a load.
type ledger struct {
	mu      sync.Mutex
	made    int
	tallies []*tally
}

// mostTallies is how many connections are counted. Only a server that hangs up again
// and again makes more.
const mostTallies = 100_000

func (l *ledger) sheet() *tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &tally{}
	if l.made++; len(l.tallies) < mostTallies {
		l.tallies = append(l.tallies, t)
	}
	return t
}

// before is what was there when a load began.
type before struct {
	counting bool // the server counts calls of functions
	calls    [functionsInAll]int64
	since    string // the server runs
	state    state
	known    bool // the state could be taken
}

// Run runs the shop until stage.Length or until the recorder has enough, and then looks
// at what it left behind.
func (d *store) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := targets(env)
	if err != nil {
		return err
	}
	was, err := d.begin(ctx, at, out)
	if err != nil {
		return err
	}
	l := &ledger{}
	job, err := d.job(at, stage, l, was)
	if err != nil {
		return err
	}
	if err := socket.Run(ctx, job, out); err != nil {
		return err
	}
	return d.conclude(ctx, conclusion{env: env, at: at, ledger: l, before: was}, out)
}

// begin takes down what there is at each server.
func (d *store) begin(ctx context.Context, at []postgres.Place, out *measure.Recorder) ([]before, error) {
	was := make([]before, len(at))
	return was, postgres.Each(ctx, at, func(ctx context.Context, number int, at postgres.Place) (err error) {
		was[number], err = d.beginOne(ctx, at, out)
		return err
	})
}

// beginOne notes that the data is not as new any more, and takes down what it is.
func (d *store) beginOne(ctx context.Context, at postgres.Place, out *measure.Recorder) (was before, err error) {
	s, err := postgres.Dial(ctx, at, database)
	if err != nil {
		return was, err
	}
	defer s.Close()
	if err := settle(ctx, s); err != nil {
		return was, err
	}
	rows, err := s.Query(ctx, "INSERT INTO plimsoll VALUES ('"+usedNote+"', 'yes') ON CONFLICT DO NOTHING; SELECT count(*) FROM products")
	if err != nil || len(rows) != 1 {
		return was, errors.Join(errors.New("look at the data of dvdstore: the database does not tell what it holds"), err)
	}
	out.Observe("dvdstore.products", rows[0][0])
	switch err := s.Exec(ctx, count); {
	case err == nil:
		was.counting = true
	case !postgres.Forbidden(err):
		return was, fmt.Errorf("have the server count calls: %w", err)
	}
	if was.calls, was.since, err = counted(ctx, s); err != nil {
		return was, err
	}
	if d.Verify {
		was.state, was.known, err = look(ctx, s)
	}
	return was, err
}

// counting says whether all servers count calls.
func counting(was []before) bool {
	return !slices.ContainsFunc(was, func(b before) bool { return !b.counting })
}

// job is the load for the load core.
func (d *store) job(at []postgres.Place, stage load.Stage, l *ledger, was []before) (load.Job, error) {
	who, err := at[0].Account(database)
	if err != nil {
		return load.Job{}, err
	}
	first := d.size().warm()
	if counting(was) {
		first += count
	}
	var clock func() time.Time
	if d.Rate == 0 {
		clock = time.Now
	}
	statements := prepared()
	return load.Job{
		Stage: stage, Network: at[0].Network, Address: at[0].Address, More: postgres.Further(at),
		Arrivals: d.arrivals, Think: load.Think{Mean: time.Duration(d.Think), Uniform: true},
		Connections: d.Connections, Threads: d.Threads,
		Tick: time.Duration(d.Tick), Timeout: time.Duration(d.Timeout), MaxLag: time.Duration(d.MaxLag),
		Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			return &talk{
				shopper: shopper{store: d, source: &source{*rand.NewPCG(stage.Seed, uint64(number)^0x647664)}, z: d.size()},
				session: postgres.NewSession(who, first, statements), tally: l.sheet(), clock: clock,
			}
		},
	}, nil
}

// conclusion is what is known when the load is over.
type conclusion struct {
	env    workload.Env
	at     []postgres.Place
	ledger *ledger
	before []before
}

// conclude takes down what was asked for, and what is there now.
func (d *store) conclude(ctx context.Context, c conclusion, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.ledger.tallies {
		sum.add(t)
	}
	if sum.troubles > 0 && c.env.Log != nil {
		c.env.Log("%d calls failed, the first with: %s", sum.troubles, sum.why)
	}
	sum.values(out)
	out.Check(sum.mixed(d))
	out.Observe("dvdstore.connections", strconv.Itoa(min(c.ledger.made/len(c.at), d.Connections)))
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
	grown, known, err := d.grown(ctx, c)
	if err != nil {
		return err
	}
	if !known {
		out.Check(measure.Check{Name: "data", State: measure.Unknown, Detail: "to count the rows takes longer than " + enoughTime.String()})
		return nil
	}
	if pieces := grown[linePieces]; pieces > 0 {
		out.Value("lost_sales", 1-float64(grown[soldPieces])/float64(pieces))
	}
	out.Check(sum.kept(d, grown))
	return nil
}

// grown is by how much the data of all servers has grown; known is false where that
// takes too long to tell.
func (d *store) grown(ctx context.Context, c conclusion) (grown state, known bool, err error) {
	now, known := make([]before, len(c.at)), true
	err = postgres.Each(ctx, c.at, func(ctx context.Context, number int, at postgres.Place) error {
		s, err := postgres.Dial(ctx, at, database)
		if err != nil {
			return fmt.Errorf("look at the data after the load: %w", err)
		}
		defer s.Close()
		now[number].state, now[number].known, err = look(ctx, s)
		return err
	})
	for number, was := range c.before {
		known = known && was.known && now[number].known
		for k := range grown {
			grown[k] += now[number].state[k] - was.state[k]
		}
	}
	return grown, known, err
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
	ratio("retries", t.retries+t.taken, done)
	if t.orders > 0 {
		out.Value("order.mean", t.total.Seconds()/float64(t.orders))
		out.Value("order.max", t.longest.Seconds())
	}
}
