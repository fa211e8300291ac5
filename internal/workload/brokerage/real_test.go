package brokerage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
	"plimsoll/internal/workload/workloadtest"
)

// environment is that of a load on a server.
func environment(t *testing.T, target func(protocol string) (load.Endpoint, error)) workload.Env {
	return workload.Env{Seed: 7, Log: t.Logf, Target: target}
}

func with(more parameter.Settings) parameter.Settings {
	all := parameter.Settings{"customers": "100", "days": "1", "connections": "4", "timeout": "1m"} // a busy machine is slow, and not wrong
	for k, v := range more {
		all[k] = v
	}
	return all
}

func made(t *testing.T, settings parameter.Settings) *brokerage {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*brokerage)
}

func TestRealContract(t *testing.T) {
	settings := map[string][]parameter.Settings{
		engine.PostgreSQL: {with(parameter.Settings{"rate": "100/s", "arrivals": "poisson", "tick": "1ms", "isolation": "serializable", "retries": "100"})},
		engine.MariaDB:    {with(parameter.Settings{"reset": "false", "threads": "2", "connections": "2"})},
	}
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		workloadtest.Run(t, Kind(), workloadtest.Options{
			Settings: settings[s.Protocol],
			Env:      func(t *testing.T) workload.Env { return environment(t, s.Target) },
			Length:   6 * time.Second, // on a busy machine sessions take a while to begin, which is not to weigh
		})
	})
}

// run runs a load until a few of each kind of transaction were done, however slow the
// machine is, and is what it recorded.
func run(t *testing.T, k *brokerage, env workload.Env, few int64) *measure.Recorder {
	t.Helper()
	out := measure.NewRecorder(func(out *measure.Recorder) bool {
		done := done(out)
		return slices.Min(done[:]) >= few
	})
	if err := k.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := k.Run(t.Context(), env, load.Stage{Length: 2 * time.Minute, Interval: 200 * time.Millisecond, Seed: 3}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// done is how many transactions of each kind were done.
func done(out *measure.Recorder) (all [kinds]int64) {
	for _, in := range out.Intervals() {
		for kind, sample := range in.Samples {
			all[kind] += sample.Operations
		}
	}
	return all
}

func check(t *testing.T, out *measure.Recorder, name string) measure.Check {
	t.Helper()
	for _, c := range out.Checks() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %s", name)
	return measure.Check{}
}

// All transactions are done, none fails, and what they leave behind is consistent, however
// they are kept apart; every condition notices when it is broken, also where only what the
// load changed is looked at. What the server acknowledged is there after it was killed in
// the middle.
func TestRealConsistency(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		for _, isolation := range []string{"repeatable read", "read committed"} {
			k := made(t, with(parameter.Settings{"connections": "6", "isolation": isolation, "retries": "200"}))
			sound(t, run(t, k, environment(t, s.Target), 20), isolation)
		}
		db := s.Dial(t, database)
		for _, known := range []int{0, made(t, with(nil)).size().trades()} {
			c, err := dataset.Consistent(t.Context(), db, time.Minute, conditions(known))
			if err != nil || c.State != measure.Pass {
				t.Errorf("beyond trade %d: %+v, %v", known, c, err)
			}
			for i, sql := range spoils(s.Protocol, known) {
				spoilt(t, db, sql, known, i+1)
			}
		}
		spoilt(t, db, "DELETE FROM holding WHERE h_t_id = (SELECT min(h_t_id) FROM holding)", made(t, with(nil)).size().trades(), 4)
		db.Close()
		killed(t, s)
	})
}

// spoilt looks that the condition with a number notices a change, which is taken back.
func spoilt(t *testing.T, db engine.Conn, sql string, known, number int) {
	t.Helper()
	if err := db.Exec(t.Context(), "BEGIN; "+sql); err != nil {
		t.Fatal(err)
	}
	c, err := dataset.Consistent(t.Context(), db, time.Minute, conditions(known))
	if err != nil || c.State != measure.Fail || !strings.Contains(c.Detail, fmt.Sprintf("condition %d,", number)) {
		t.Errorf("condition %d is broken beyond trade %d: %+v, %v", number, known, c, err)
	}
	if err := db.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

// sound looks that a load did all that it should, and left behind what it should.
func sound(t *testing.T, out *measure.Recorder, isolation string) {
	t.Helper()
	for _, name := range []string{"distribution", "trades", "consistency"} {
		c := check(t, out, name)
		t.Logf("%s: %s", c.Name, c.Detail)
		if c.State != measure.Pass {
			t.Errorf("%s: %+v", isolation, c)
		}
	}
	if n := failed(out); n > 0 {
		t.Errorf("%s: %d transactions failed", isolation, n)
	}
	t.Log(done(out), out.Values())
	for kind, n := range done(out) {
		if n == 0 {
			t.Errorf("%s: no %s was done", isolation, names[kind])
		}
	}
	if out.Values()["hits"] == 0 {
		t.Errorf("%s: no price reached a limit order", isolation)
	}
	if got := out.Observed()["brokerage.isolation"]; got != isolation {
		t.Errorf("transactions are kept apart by %q, not %q", got, isolation)
	}
}

// spoils breaks each of the conditions, in their order, by rows of trades beyond a number.
func spoils(protocol string, beyond int) (all []string) {
	for _, s := range []struct{ change, table, where string }{
		{"DELETE FROM trade_request", "trade_request", "tr_t_id > 0"},
		{"UPDATE broker SET b_num_trades = b_num_trades + 1", "broker", "b_id > 0"},
		{"UPDATE customer_account SET ca_bal = ca_bal + 0.01", "customer_account", "ca_id = 7"},
		{"UPDATE holding SET h_qty = h_qty + 100", "holding", "h_t_id > {beyond}"},
		{"UPDATE trade SET t_qty = t_qty + 100", "trade", "t_st_id = 'CMPT' AND t_id > {beyond}"},
		{"UPDATE holding_history SET hh_after_qty = hh_after_qty + 100", "holding_history", "hh_t_id > {beyond}"},
		{"UPDATE holding_history SET hh_t_id = hh_t_id + 1000000", "holding_history", "hh_t_id > {beyond}"},
		{"DELETE FROM settlement", "settlement", "se_t_id > {beyond}"},
		{"UPDATE cash_transaction SET ct_amt = ct_amt + 0.01", "cash_transaction", "ct_t_id > {beyond}"},
		{"DELETE FROM trade_history", "trade_history", "th_t_id > {beyond}"},
	} {
		one := " WHERE " + strings.ReplaceAll(s.where, "{beyond}", strconv.Itoa(beyond)) + " LIMIT 1"
		if protocol == engine.PostgreSQL {
			one = " WHERE ctid = (SELECT ctid FROM " + s.table + one + ")"
		}
		all = append(all, s.change+one)
	}
	return all
}

// The first data is consistent before anything was done to it. Each trial begins with it,
// whatever the one before did, and whether the server was started again in between.
func TestRealReset(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		k, env := made(t, with(nil)), environment(t, s.Target)
		first := digest(t, k, s)
		whole(t, s)
		run(t, k, env, 1)
		s.End(t, syscall.SIGINT)
		s.Begin(t)
		if again := digest(t, k, s); again != first {
			t.Errorf("the data is another after a trial:\n%s\n%s", first, again)
		}
		if made(t, with(parameter.Settings{"days": "2"})).data(s.Protocol, 7).Note == k.data(s.Protocol, 7).Note {
			t.Error("other days are the same data")
		}
		if err := k.Clean(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		if first != digest(t, made(t, with(parameter.Settings{"loaders": "1"})), s) {
			t.Error("made anew, the data is another")
		}
	})
}

// whole looks that the first data is consistent and the same on both engines.
func whole(t *testing.T, s *enginetest.Server) {
	t.Helper()
	db := s.Dial(t, database)
	defer db.Close()
	c, err := dataset.Consistent(t.Context(), db, time.Minute, conditions(0))
	if err != nil || c.State != measure.Pass {
		t.Errorf("%+v, %v", c, err)
	}
	rows, err := db.Query(t.Context(), "SELECT (SELECT count(*) FROM trade), (SELECT count(*) FROM customer WHERE c_tier = 1), (SELECT count(*) FROM last_trade), (SELECT count(*) FROM daily_market), "+
		"(SELECT count(DISTINCT ca_b_id) FROM customer_account), (SELECT count(*) FROM trade WHERE t_tax > 0 AND t_lifo AND NOT t_is_cash), (SELECT sum(b_comm_total) FROM broker)")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], " "); got != fmt.Sprintf("%d 20 68 %d 1 5 197750.69", 11*500, 68*1305) {
		t.Errorf("the data has %s", got)
	}
}

// digest prepares the data, and is a sum of all of it.
func digest(t *testing.T, k *brokerage, s *enginetest.Server) string {
	t.Helper()
	if err := k.Prepare(t.Context(), environment(t, s.Target)); err != nil {
		t.Fatal(err)
	}
	all := []string{"security", "last_trade", "daily_market", "trade_request", "charge", "commission_rate"}
	for _, t := range filled {
		all = append(all, t.name)
	}
	for i, name := range all {
		all[i] = "SELECT '" + name + "', count(*), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::int::bigint) FROM " + name + " AS t"
		if s.Protocol == engine.MariaDB {
			all[i] = "SELECT count(*) FROM " + name + "; CHECKSUM TABLE " + name
		}
	}
	rows, err := s.Dial(t, database).Query(t.Context(), strings.Join(all, "; "))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(slices.Concat(rows...), " ")
}

// killed looks that what a server acknowledged is there after it was killed in the middle.
func killed(t *testing.T, s *enginetest.Server) {
	t.Helper()
	k, env := made(t, with(nil)), environment(t, s.Target)
	if err := k.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	dead, again := false, make(chan struct{})
	out := measure.NewRecorder(func(out *measure.Recorder) bool {
		if done := done(out); !dead && done[tradeResult] >= 20 {
			dead = true
			go func() {
				defer close(again)
				s.End(t, syscall.SIGKILL)
				s.Begin(t)
			}()
		}
		select {
		case <-again:
			return failed(out) > 0
		default:
			return false
		}
	})
	stage := load.Stage{Length: 2 * time.Minute, Interval: 200 * time.Millisecond, Seed: 5}
	c, err := k.trial(trial{Env: env, Stage: stage, Out: out}).Run(t.Context())
	if err != nil || !dead {
		t.Fatalf("the server died: %t, %v", dead, err)
	}
	<-again
	if err := k.conclude(t.Context(), c, out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trades", "consistency"} {
		if c := check(t, out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		} else {
			t.Log(c.Detail)
		}
	}
	if failed(out) == 0 {
		t.Error("the server died, and nothing failed")
	}
}

// failed is how many transactions failed.
func failed(out *measure.Recorder) (n int64) {
	for _, in := range out.Intervals() {
		for _, sample := range in.Samples {
			n += sample.Errors
		}
	}
	return n
}

// Where nobody is, one line says so.
func TestNoServer(t *testing.T) {
	env := environment(t, func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "x", Database: "y"}, nil
	})
	k := made(t, with(nil))
	if _, err := k.Check(t.Context(), env); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("no server: %v", err)
	}
	if err := k.Clean(t.Context(), env); err != nil {
		t.Errorf("clean where nobody is: %v", err)
	}
	if err := k.Prepare(t.Context(), workload.Env{}); err == nil || !strings.Contains(err.Error(), "service postgresql or mariadb") {
		t.Errorf("without a service: %v", err)
	}
}
