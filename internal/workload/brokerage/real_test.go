package brokerage

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// server is a real server of the distribution on a free port of the loopback device.
type server struct {
	dir, bin string
	at       load.Endpoint
	process  *exec.Cmd
	log      func(format string, args ...any)
}

func real(t *testing.T) *server {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with the real postgres")
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Fatal("postgres is not installed: ./setup test")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{log: t.Logf, bin: filepath.Dir(found[len(found)-1]), at: load.Endpoint{Network: "tcp", Address: l.Addr().String(), User: "postgres", Database: "postgres"}}
	l.Close()
	if s.dir, err = os.MkdirTemp("", "brokerage"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	if os.Getuid() == 0 {
		if err := os.Chown(s.dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := s.command("initdb", "-D", s.dir+"/data", "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	s.start(t)
	t.Cleanup(func() { s.end(syscall.SIGINT) })
	return s
}

// command runs a program as nobody, because PostgreSQL refuses to run as root.
func (s *server) command(name string, words ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), words...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return c
}

func (s *server) start(t *testing.T) {
	t.Helper()
	_, port, _ := net.SplitHostPort(s.at.Address)
	s.process = s.command("postgres", "-D", s.dir+"/data", "-p", port, "-h", "127.0.0.1", "-k", "", "-c", "max_wal_size=256MB", "-c", "shared_buffers=64MB", "-c", "fsync=off")
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(20 * time.Second); ; {
		c, err := postgres.Dial(t.Context(), s.places()[0], "")
		if err == nil {
			c.Close()
			return
		} else if time.Now().After(over) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (s *server) places() []postgres.Place {
	p, _ := targets(s.env())
	return p
}

func (s *server) end(how syscall.Signal) {
	s.process.Process.Signal(how)
	s.process.Wait()
}

func (s *server) env() workload.Env {
	return workload.Env{Seed: 7, Target: func(string) (load.Endpoint, error) { return s.at, nil }, Log: s.log}
}

func (s *server) inside(t *testing.T) *postgres.Conn {
	t.Helper()
	db, err := postgres.Dial(t.Context(), s.places()[0], database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func with(more parameter.Settings) parameter.Settings {
	all := parameter.Settings{"customers": "100", "days": "1", "connections": "4"}
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
	s := real(t)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			with(nil),
			with(parameter.Settings{"rate": "100/s", "arrivals": "poisson", "tick": "1ms", "isolation": "serializable", "retries": "100"}),
			with(parameter.Settings{"reset": "false", "threads": "2"}),
		},
		Env:    func(*testing.T) workload.Env { return s.env() },
		Length: 1200 * time.Millisecond,
	})
}

// run runs a load and is what it recorded.
func run(t *testing.T, k *brokerage, env workload.Env, length time.Duration) *measure.Recorder {
	t.Helper()
	out := measure.NewRecorder(nil)
	if err := k.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := k.Run(t.Context(), env, load.Stage{Length: length, Interval: length / 4, Seed: 3}, out); err != nil {
		t.Fatal(err)
	}
	return out
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

// The first data is consistent before anything was done to it.
func TestRealFirstData(t *testing.T) {
	s := real(t)
	k := made(t, with(parameter.Settings{"customers": "200", "days": "2"}))
	if err := k.Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	db := s.inside(t)
	c, err := consistent(t.Context(), db, time.Minute)
	if err != nil || c.State != measure.Pass {
		t.Errorf("%+v, %v", c, err)
	}
	rows, err := db.Query(t.Context(), "SELECT (SELECT count(*) FROM trade), (SELECT count(*) FROM customer WHERE c_tier = 1), (SELECT count(*) FROM last_trade), (SELECT count(*) FROM daily_market), (SELECT count(DISTINCT ca_b_id) FROM customer_account), (SELECT count(*) FROM trade WHERE t_tax > 0) > 0")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], " "); got != fmt.Sprintf("%d 40 137 %d 2 t", 23*1000, 137*1305) {
		t.Errorf("the data has %s", got)
	}
}

// All transactions are done, none fails, and what they leave behind is consistent; every
// condition notices when it is broken.
func TestRealConsistency(t *testing.T) {
	s := real(t)
	k := made(t, with(parameter.Settings{"connections": "6"}))
	out := run(t, k, s.env(), 3*time.Second)
	for _, name := range []string{"distribution", "trades", "consistency"} {
		c := check(t, out, name)
		t.Logf("%s: %s", c.Name, c.Detail)
		if c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	var done [kinds]int64
	for _, in := range out.Intervals() {
		for kind, sample := range in.Samples {
			done[kind] += sample.Operations
			if sample.Errors > 0 {
				t.Errorf("%s: %d errors", names[kind], sample.Errors)
			}
		}
	}
	t.Log(done, out.Values())
	for kind, n := range done {
		if n == 0 {
			t.Errorf("no %s was done", names[kind])
		}
	}
	if out.Values()["hits"] == 0 {
		t.Error("no price reached a limit order")
	}
	db := s.inside(t)
	one := func(of string) string { return "ctid = (SELECT ctid FROM " + of + " LIMIT 1)" }
	for i, sql := range []string{
		"DELETE FROM trade_request WHERE " + one("trade_request"),
		"UPDATE broker SET b_num_trades = b_num_trades + 1",
		"UPDATE customer_account SET ca_bal = ca_bal + 0.01 WHERE ca_id = 7",
		"UPDATE holding SET h_qty = h_qty + 100 WHERE " + one("holding"),
		"UPDATE trade SET t_qty = t_qty + 100 WHERE " + one("trade WHERE t_st_id = 'CMPT'"),
		"UPDATE holding_history SET hh_after_qty = hh_after_qty + 100 WHERE " + one("holding_history"),
		"UPDATE holding_history SET hh_t_id = hh_t_id + 1000000 WHERE " + one("holding_history"),
		"DELETE FROM settlement WHERE " + one("settlement"),
		"UPDATE cash_transaction SET ct_amt = ct_amt + 0.01 WHERE " + one("cash_transaction"),
		"DELETE FROM trade_history WHERE " + one("trade_history"),
	} {
		if err := db.Exec(t.Context(), "BEGIN; "+sql); err != nil {
			t.Fatal(err)
		}
		c, err := consistent(t.Context(), db, time.Minute)
		if err != nil || c.State != measure.Fail || !strings.Contains(c.Detail, fmt.Sprintf("condition %d,", i+1)) {
			t.Errorf("condition %d is broken: %+v, %v", i+1, c, err)
		}
		if err := db.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// Each trial begins with the same data, whatever the one before did.
func TestRealReset(t *testing.T) {
	s := real(t)
	k := made(t, with(nil))
	first := digest(t, k, s)
	run(t, k, s.env(), 300*time.Millisecond)
	if again := digest(t, k, s); again != first {
		t.Errorf("the data is another after a trial:\n%s\n%s", first, again)
	}
	if made(t, with(parameter.Settings{"days": "2"})).data(7).Note == k.data(7).Note {
		t.Error("other days are the same data")
	}
	if err := k.Clean(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	if first != digest(t, made(t, with(parameter.Settings{"loaders": "1"})), s) {
		t.Error("made anew, the data is another")
	}
}

// digest prepares the data, and is a sum of all of it.
func digest(t *testing.T, k *brokerage, s *server) string {
	t.Helper()
	if err := k.Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Dial(t.Context(), s.places()[0], database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all []string
	for _, name := range []string{"security", "last_trade", "daily_market", "trade_request", "charge", "commission_rate"} {
		all = append(all, name)
	}
	for _, t := range filled {
		all = append(all, t.name)
	}
	for i, name := range all {
		rows, err := db.Query(t.Context(), "SELECT count(*), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::int::bigint) FROM "+name+" AS t")
		if err != nil {
			t.Fatal(err)
		}
		all[i] = name + " " + strings.Join(rows[0], " ")
	}
	return strings.Join(all, ", ")
}

// What the server acknowledged is there after it was killed in the middle.
func TestRealKill(t *testing.T) {
	s := real(t)
	k := made(t, with(nil))
	env := s.env()
	if err := k.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	ledger := &ledger{}
	job, err := k.job(s.places(), load.Stage{Length: 4 * time.Second, Interval: 500 * time.Millisecond, Seed: 5}, ledger)
	if err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	before, err := k.begin(t.Context(), s.places(), out)
	if err != nil {
		t.Fatal(err)
	}
	again := make(chan struct{})
	time.AfterFunc(700*time.Millisecond, func() {
		defer close(again)
		s.end(syscall.SIGKILL)
		<-time.After(300 * time.Millisecond) // its children see that it is gone
		s.start(t)
	})
	if err := socket.Run(t.Context(), job, out); err != nil {
		t.Fatal(err)
	}
	<-again
	if err := k.conclude(t.Context(), conclusion{env: env, at: s.places(), ledger: ledger, before: before}, out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"trades", "consistency"} {
		if c := check(t, out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		} else {
			t.Log(c.Detail)
		}
	}
	var failed int64
	for _, in := range out.Intervals() {
		for _, sample := range in.Samples {
			failed += sample.Errors
		}
	}
	if failed == 0 {
		t.Error("the server died, and nothing failed")
	}
}

// Where nobody is, one line says so.
func TestNobodyThere(t *testing.T) {
	gone := &server{at: load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "x", Database: "y"}}
	k := made(t, with(nil))
	if _, err := k.Check(t.Context(), gone.env()); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("nobody there: %v", err)
	}
	if err := k.Clean(t.Context(), gone.env()); err != nil {
		t.Errorf("clean where nobody is: %v", err)
	}
	if err := k.Prepare(t.Context(), workload.Env{}); err == nil || !strings.Contains(err.Error(), "service postgresql") {
		t.Errorf("without a service: %v", err)
	}
}
