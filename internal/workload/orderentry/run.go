package orderentry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dataset"
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

// Run runs transactions until stage.Length or until the recorder has enough, and then
// looks at what they left behind.
func (o *orderEntry) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at, err := targets(env)
	if err != nil {
		return err
	}
	before, err := o.begin(ctx, at, out)
	if err != nil {
		return err
	}
	l := &ledger{}
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

// begin notes that the data is not as new any more, and reads back what it is.
func (o *orderEntry) begin(ctx context.Context, at []postgres.Place, out *measure.Recorder) (orders int64, err error) {
	counts := make([]int64, len(at))
	err = postgres.Each(ctx, at, func(ctx context.Context, number int, at postgres.Place) (err error) {
		counts[number], err = o.beginOne(ctx, at, out)
		return err
	})
	for _, n := range counts {
		orders += n
	}
	return orders, err
}

func (o *orderEntry) beginOne(ctx context.Context, at postgres.Place, out *measure.Recorder) (orders int64, err error) {
	s, err := postgres.Dial(ctx, at, database)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := dataset.Use(ctx, s); err != nil {
		return 0, err
	}
	rows, err := s.Query(ctx, "SELECT (SELECT count(*) FROM warehouse), (SELECT count(*) FROM item), (SELECT count(*) FROM customer WHERE c_w_id = 1 AND c_d_id = 1), (SELECT sum(d_next_o_id) FROM district)")
	if err != nil {
		return 0, fmt.Errorf("look at the data of order-entry: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 4 {
		return 0, errors.New("look at the data of order-entry: the database does not tell what it holds")
	}
	for i, name := range []string{"warehouses", "items", "customers"} {
		out.Observe("order-entry."+name, rows[0][i])
	}
	if orders, err = strconv.ParseInt(rows[0][3], 10, 64); err != nil {
		return 0, fmt.Errorf("look at the data of order-entry: %w", err)
	}
	return orders, nil
}

// job is the load for the load core.
func (o *orderEntry) job(at []postgres.Place, stage load.Stage, l *ledger) (load.Job, error) {
	who, err := at[0].Account(database)
	if err != nil {
		return load.Job{}, err
	}
	isolate := ""
	if o.Isolation != readCommitted {
		isolate = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " + o.Isolation
	}
	return load.Job{
		Stage: stage, Network: at[0].Network, Address: at[0].Address, More: postgres.Further(at),
		Arrivals: o.arrivals, Think: load.Think{Mean: o.pause(), Exponential: true},
		Connections: o.Connections, Window: o.window, Threads: o.Threads,
		Tick: time.Duration(o.Tick), Timeout: time.Duration(o.Timeout), MaxLag: time.Duration(o.MaxLag),
		Classes: names[:],
		Dialogue: func(number int) load.Dialogue {
			t := &terminal{
				source: &source{*rand.NewPCG(stage.Seed, uint64(number)^0x6f72646572), stage.Seed},
				z:      o.size(), session: postgres.NewSession(who, isolate, statements()), retries: o.Retries,
				tally: l.sheet(), tasks: make([]task, o.window),
			}
			if o.Home == "connection" {
				t.home = number%o.Warehouses + 1
			}
			return t
		},
	}, nil
}

// conclusion is what is known when the load is over.
type conclusion struct {
	env    workload.Env
	at     []postgres.Place
	ledger *ledger
	before int64 // orders of all districts, as they count them
	took   time.Duration
}

// conclude takes down what was asked for, and what is there now.
func (o *orderEntry) conclude(ctx context.Context, c conclusion, out *measure.Recorder) error {
	var sum tally
	for _, t := range c.ledger.tallies {
		sum.add(t)
	}
	if sum.troubles > 0 && c.env.Log != nil {
		c.env.Log("the database refused %d transactions, the first with: %s", sum.troubles, sum.why)
	}
	out.Check(sum.check(o.Warehouses))
	var all int64
	for _, n := range sum.done {
		all += n
	}
	if all > 0 {
		out.Value("retries", float64(sum.retries)/float64(all))
	}
	if districts := sum.shipped + sum.skipped; districts > 0 {
		out.Value("skipped", float64(sum.skipped)/float64(districts))
	}
	out.Observe("order-entry.connections", strconv.Itoa(min(c.ledger.made/len(c.at), o.Connections)))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	left := make([]remains, len(c.at))
	if err := postgres.Each(ctx, c.at, func(ctx context.Context, number int, at postgres.Place) (err error) {
		left[number], err = o.look(ctx, at)
		return err
	}); err != nil {
		return err
	}
	now, check := int64(0), left[0].consistency
	for number, r := range left {
		now += r.orders
		if worse := r.consistency; worse.State != measure.Pass && check.State != measure.Fail {
			check = worse
			if len(left) > 1 {
				check.Detail = fmt.Sprintf("server %d: %s", number+1, worse.Detail)
			}
		}
	}
	out.Value("district.new_orders", float64(now-c.before)/c.took.Seconds())
	out.Check(sum.counted(now - c.before))
	if o.Verify {
		out.Check(check)
	}
	return nil
}

// remains is what a load left behind at a server.
type remains struct {
	orders      int64 // of all districts, as they count them
	consistency measure.Check
}

func (o *orderEntry) look(ctx context.Context, at postgres.Place) (r remains, err error) {
	s, err := postgres.Dial(ctx, at, database)
	if err != nil {
		return r, fmt.Errorf("look at the data after the load: %w", err)
	}
	defer s.Close()
	rows, err := s.Query(ctx, "SELECT sum(d_next_o_id) FROM district")
	if err != nil {
		return r, fmt.Errorf("count the orders of the districts: %w", err)
	}
	if r.orders, err = strconv.ParseInt(rows[0][0], 10, 64); err != nil {
		return r, fmt.Errorf("count the orders of the districts: %w", err)
	}
	if o.Verify {
		r.consistency, err = consistent(ctx, s, enoughTime)
	}
	return r, err
}

// counted holds the new orders of the client against those of the districts. One whose
// answer was lost may be there or not.
func (t *tally) counted(district int64) measure.Check {
	lost := t.orders - t.placed - t.rolled
	c := measure.Check{
		Name: "new orders", State: measure.Pass,
		Detail: fmt.Sprintf("the load placed %d, the districts count %d; of %d more the answer is not known", t.placed, district, lost),
	}
	if district < t.placed || district > t.placed+lost {
		c.State = measure.Fail
	}
	return c
}
