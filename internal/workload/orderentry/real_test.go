package orderentry

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// The passwords that the tests name. Parallel tests may not set variables of the environment.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"PLIMSOLL_TEST_RIGHT": "hush", "PLIMSOLL_TEST_WRONG": "hash"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func env(t *testing.T, s *enginetest.Server) workload.Env {
	return workload.Env{Seed: 7, Target: s.Target, Log: t.Logf}
}

func made(t *testing.T, settings parameter.Settings) *orderEntry {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*orderEntry)
}

var small = parameter.Settings{"items": "200", "customers": "60", "connections": "4"}

func with(more parameter.Settings) parameter.Settings {
	all := maps.Clone(small)
	maps.Copy(all, more)
	return all
}

func TestRealContract(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		workloadtest.Run(t, Kind(), workloadtest.Options{
			Settings: []parameter.Settings{
				with(nil),
				with(parameter.Settings{"warehouses": "2", "rate": "100/s", "arrivals": "poisson", "tick": "1ms", "isolation": "serializable"}),
				with(parameter.Settings{"terminals": "40", "waits": "1%", "home": "connection", "reset": "false", "threads": "2"}),
			},
			Env:    func(t *testing.T) workload.Env { return env(t, s) },
			Length: 800 * time.Millisecond,
		})
	})
}

// run runs a load until it has done enough, and is what it recorded.
func run(t *testing.T, o *orderEntry, env workload.Env, enough func(all []measure.Interval) bool) *measure.Recorder {
	t.Helper()
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return enough(r.Intervals()) })
	if err := o.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := o.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: 100 * time.Millisecond, Seed: 3}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// something is enough where it does not matter how much is done.
func something(all []measure.Interval) bool {
	done, _ := counts(all)
	return done[newOrder] > 5
}

// each has every transaction done by now, some more than once.
func each(all []measure.Interval) bool {
	done, _ := counts(all)
	return slices.Min(done[:]) > 0 && sum(done) > 1000
}

// passes looks for checks that must have passed.
func passes(t *testing.T, out *measure.Recorder, wanted ...string) {
	t.Helper()
	found := map[string]measure.Check{}
	for _, c := range out.Checks() {
		found[c.Name] = c
	}
	for _, name := range wanted {
		t.Logf("%s: %s", name, found[name].Detail)
		if found[name].State != measure.Pass {
			t.Errorf("%s: %+v", name, found[name])
		}
	}
}

// counts are what was done, and what failed, of each transaction.
func counts(all []measure.Interval) (done, failed [kinds]int64) {
	for _, in := range all {
		for k, sample := range in.Samples {
			done[k] += sample.Operations
			failed[k] += sample.Errors
		}
	}
	return done, failed
}

func sum(counts [kinds]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// All five transactions are done, none fails, and what they leave behind is
// consistent; every condition notices when it is broken.
func TestRealConsistency(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		out := run(t, made(t, with(parameter.Settings{"warehouses": "2", "connections": "6"})), env(t, s), each)
		passes(t, out, "distribution", "new orders", "payments", "deliveries", "consistency")
		done, failed := counts(out.Intervals())
		t.Log(done, out.Values())
		for k := range done {
			if done[k] == 0 || failed[k] > 0 {
				t.Errorf("%s: %d done, %d failed", names[k], done[k], failed[k])
			}
		}
		c := s.Dial(t, database)
		for number, sql := range map[int]string{
			1:  "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 2 AND d_id = 3",
			2:  "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1",
			3:  "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) = (SELECT 1, 1, last - 1 FROM (SELECT max(no_o_id) AS last FROM new_order WHERE no_w_id = 1 AND no_d_id = 1) AS l)",
			4:  "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
			5:  "UPDATE orders SET o_carrier_id = 1 WHERE (o_w_id, o_d_id, o_id) = (SELECT no_w_id, no_d_id, no_o_id FROM new_order LIMIT 1)",
			6:  "UPDATE order_line SET ol_o_id = 2, ol_number = 99 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
			7:  "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
			8:  "UPDATE history SET h_amount = h_amount + 1 WHERE h_w_id = 1 AND h_c_w_id = 1 AND h_c_d_id = 1 AND h_c_id = 1",
			9:  "UPDATE history SET h_amount = h_amount - 1 WHERE h_w_id = 2 AND h_c_w_id = 2 AND h_c_d_id = 1 AND h_c_id = 1",
			10: "UPDATE customer SET c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01 WHERE c_w_id = 2 AND c_d_id = 10 AND c_id = 60",
			11: "UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = 1 AND c_d_id = 4 AND c_id = 7",
			12: "UPDATE customer SET c_balance = c_balance - 0.01 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
			13: "UPDATE stock SET s_remote_cnt = s_remote_cnt + 1 WHERE s_w_id = 2 AND s_i_id = 200",
			14: "UPDATE stock SET s_quantity = CASE WHEN s_quantity = 100 THEN 99 ELSE s_quantity + 1 END WHERE s_w_id = 1 AND s_i_id = 1",
			15: "UPDATE order_line SET ol_amount = ol_amount + 0.01 WHERE ol_w_id = 1 AND ol_o_id = 61 AND ol_number = 1",
			16: "UPDATE customer SET c_payment_cnt = c_payment_cnt - 1 WHERE c_w_id = 1 AND c_d_id = 1 AND c_id = 1",
		} {
			if err := c.Exec(t.Context(), "BEGIN; "+sql); err != nil {
				t.Fatal(err)
			}
			check, err := dataset.Consistent(t.Context(), c, time.Minute, conditions(size{2, 200, 60}))
			if err != nil || check.State != measure.Fail || !strings.Contains(check.Detail, fmt.Sprintf("condition %d,", number)) {
				t.Errorf("condition %d is broken: %+v, %v", number, check, err)
			}
			if err := c.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Each trial begins with the same data, whatever the one before did.
func TestRealReset(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		o := made(t, small)
		first := digest(t, o, s)
		run(t, o, env(t, s), something)
		if again := digest(t, o, s); again != first {
			t.Errorf("the data is another after a trial:\n%s\n%s", first, again)
		}
		if digest(t, made(t, with(parameter.Settings{"items": "201"})), s) == first {
			t.Error("other items are the same data")
		}
		if err := o.Clean(t.Context(), env(t, s)); err != nil {
			t.Fatal(err)
		}
		if first != digest(t, o, s) {
			t.Error("made anew, the data is another")
		}
	})
}

// digest prepares the data, and is a sum of all of it.
func digest(t *testing.T, o *orderEntry, s *enginetest.Server) string {
	t.Helper()
	if err := o.Prepare(t.Context(), env(t, s)); err != nil {
		t.Fatal(err)
	}
	c := s.Dial(t, database)
	sum := "SELECT '%[1]s', count(*), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::int::bigint) FROM %[1]s AS t"
	if s.Protocol == engine.MariaDB {
		sum = "CHECKSUM TABLE %s EXTENDED"
	}
	var all []string
	for _, table := range tables {
		rows, err := c.Query(t.Context(), fmt.Sprintf(sum, table.Name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Join(rows[0], " "))
	}
	return strings.Join(all, ", ")
}

// Several servers have the same data and as much load each; what is wrong at one of them is
// told with its number.
func TestRealSeveral(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		other := enginetest.Start(t, enginetest.Setup{Protocol: s.Protocol})
		at := env(t, s)
		at.Target = func(protocol string) (load.Endpoint, error) {
			both, err := s.Target(protocol)
			both.More = []string{other.At.Address}
			return both, err
		}
		o := made(t, with(parameter.Settings{"reset": "false", "connections": "3"}))
		shares := make([]int64, 2)
		out := run(t, o, at, func(all []measure.Interval) bool {
			for number, n := range all[len(all)-1].Shares {
				shares[number] += n
			}
			return something(all) && slices.Min(shares) > 5
		})
		passes(t, out, "distribution", "new orders", "payments", "consistency")
		if slices.Min(shares) == 0 {
			t.Errorf("the load is shared as %v", shares)
		}
		if err := other.Dial(t, database).Exec(t.Context(), "UPDATE warehouse SET w_ytd = w_ytd + 1"); err != nil {
			t.Fatal(err)
		}
		for _, c := range run(t, o, at, something).Checks() {
			if c.Name == "consistency" && (c.State != measure.Fail || !strings.HasPrefix(c.Detail, "server 2: condition 1, ")) {
				t.Errorf("%+v", c)
			}
		}
	})
}

// killed is a load during which the server was killed and came back.
func killed(t *testing.T, setup enginetest.Setup) *measure.Recorder {
	t.Helper()
	s := enginetest.Start(t, setup)
	o := made(t, with(parameter.Settings{"timeout": "1s"}))
	if err := o.Prepare(t.Context(), env(t, s)); err != nil {
		t.Fatal(err)
	}
	var back atomic.Bool
	over := make(chan struct{})
	kill := sync.OnceFunc(func() {
		go func() {
			defer close(over)
			s.End(t, syscall.SIGKILL)
			s.Begin(t)
			back.Store(true)
		}()
	})
	// The server is killed in the middle of the load, which goes on until it has done
	// something with the one that came back.
	before, after := 0, 0
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		all := r.Intervals()
		done, _ := counts(all[len(all)-1:])
		switch {
		case sum(done) > 0 && back.Load():
			after++
		case sum(done) > 0:
			before++
		}
		if before > 2 {
			kill()
		}
		return after > 2
	})
	if err := o.Run(t.Context(), env(t, s), load.Stage{Length: time.Minute, Interval: 250 * time.Millisecond, Seed: 5}, out); err != nil {
		t.Fatal(err)
	}
	<-over
	if done, failed := counts(out.Intervals()); sum(failed) == 0 || after == 0 {
		t.Errorf("%d transactions were done, %d failed", done, failed)
	}
	return out
}

// What the server acknowledged is there after it was killed in the middle. No other server starts meanwhile, which could be given its port.
func TestRealKill(t *testing.T) {
	for _, setup := range []enginetest.Setup{{Protocol: engine.PostgreSQL}, {Protocol: engine.MariaDB, Words: []string{"--innodb-flush-log-at-trx-commit=1"}}} {
		t.Run(setup.Protocol, func(t *testing.T) { passes(t, killed(t, setup), "new orders", "payments", "consistency") })
	}
}

// Where a server does not write what it acknowledges, the checks say so. PostgreSQL always
// writes all but the last page, even where a commit does not wait for it. MariaDB may happen to have written all before it is killed.
func TestRealKillOfForgetful(t *testing.T) {
	missing := 0
	for range 3 {
		out := killed(t, enginetest.Setup{Protocol: engine.MariaDB, Words: []string{"--innodb-flush-log-at-trx-commit=0", "--innodb-flush-log-at-timeout=2000"}})
		passes(t, out, "consistency")
		for _, c := range out.Checks() {
			if (c.Name == "new orders" || c.Name == "payments") && c.State == measure.Fail {
				t.Log(c)
				missing++
			}
		}
		if missing > 0 {
			return
		}
	}
	t.Error("neither orders nor payments are missed")
}

// A server that has too few sessions, or none for us, is explained.
func TestRealRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setup                      enginetest.Setup
		users, noProof, wrong, few string
	}{
		{
			enginetest.Setup{Protocol: engine.PostgreSQL, Words: []string{"-c", "max_connections=14"}},
			"CREATE ROLE poor LOGIN; CREATE ROLE hidden LOGIN CREATEDB PASSWORD 'hush'",
			"env:NAME", "password authentication failed", "too many clients already",
		},
		{
			enginetest.Setup{Protocol: engine.MariaDB, Words: []string{"--max-connections=12"}},
			"CREATE USER poor; CREATE USER hidden IDENTIFIED BY 'hush'; GRANT ALL ON `plimsoll_order_entry%`.* TO hidden",
			"Access denied for user 'hidden'", "Access denied for user 'hidden'", "Too many connections",
		},
	} {
		t.Run(c.setup.Protocol, func(t *testing.T) {
			t.Parallel()
			s := enginetest.Start(t, c.setup)
			if err := s.Dial(t, "").Exec(t.Context(), c.users); err != nil {
				t.Fatal(err)
			}
			if c.setup.Protocol == engine.PostgreSQL {
				s.End(t, syscall.SIGINT)
				if err := os.WriteFile(s.Dir+"/data/pg_hba.conf", []byte("host all hidden all scram-sha-256\nhost all all all trust\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				s.Begin(t)
			}
			o, as := made(t, small), env(t, s)
			for _, who := range []struct{ user, secret, want string }{
				{"poor", "", "may not create databases"},
				{"hidden", "", c.noProof},
				{"hidden", "env:PLIMSOLL_TEST_WRONG", c.wrong},
				{"hidden", "env:PLIMSOLL_TEST_RIGHT", ""},
			} {
				as.Target = func(protocol string) (load.Endpoint, error) {
					at, err := s.Target(protocol)
					at.User, at.Secret = who.user, who.secret
					return at, err
				}
				_, err := o.Check(t.Context(), as)
				if who.want == "" && err != nil || who.want != "" && (err == nil || !strings.Contains(err.Error(), who.want) || strings.Contains(err.Error(), "\n")) {
					t.Errorf("%s with %q: %v", who.user, who.secret, err)
				}
			}
			if out := run(t, o, as, something); out.Values()["district.new_orders"] == 0 {
				t.Error("who has proved who he is ordered nothing")
			}
			// More sessions than the server has: those that it refuses are counted and explained.
			crowd := made(t, with(parameter.Settings{"connections": "30", "timeout": "2s"}))
			out := run(t, crowd, env(t, s), func(all []measure.Interval) bool {
				_, failed := counts(all)
				return something(all) && sum(failed) > 5
			})
			passes(t, out, "new orders", "payments", "consistency")
			if said := fmt.Sprint(out.Checks()); !strings.Contains(said, c.few) {
				t.Errorf("the checks are %s", said)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	o, gone := made(t, small), workload.Env{Target: func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "x", Database: "y"}, nil
	}}
	if _, err := o.Check(t.Context(), gone); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("check: %v", err)
	}
	if err := o.Clean(t.Context(), gone); err != nil {
		t.Errorf("clean: %v", err)
	}
}
