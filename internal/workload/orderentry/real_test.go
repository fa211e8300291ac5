package orderentry

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
	s := &server{bin: filepath.Dir(found[len(found)-1]), at: load.Endpoint{Network: "tcp", Address: l.Addr().String(), User: "postgres", Database: "postgres"}}
	l.Close()
	if s.dir, err = os.MkdirTemp("", "order-entry"); err != nil {
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
		c, err := postgres.Dial(t.Context(), s.place(), "")
		if err == nil {
			c.Close()
			return
		} else if time.Now().After(over) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func (s *server) place() postgres.Place {
	return s.places()[0]
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
	return workload.Env{Seed: 7, Target: func(string) (load.Endpoint, error) { return s.at, nil }, Log: func(string, ...any) {}}
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
	all := parameter.Settings{}
	for _, m := range []parameter.Settings{small, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

func TestRealContract(t *testing.T) {
	s := real(t)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			with(nil),
			with(parameter.Settings{"warehouses": "2", "rate": "100/s", "arrivals": "poisson", "tick": "1ms", "isolation": "serializable"}),
			with(parameter.Settings{"terminals": "40", "waits": "1%", "home": "connection", "reset": "false", "threads": "2"}),
		},
		Env:    func(*testing.T) workload.Env { return s.env() },
		Length: 800 * time.Millisecond,
	})
}

// run runs a load and is what it recorded.
func run(t *testing.T, o *orderEntry, env workload.Env, length time.Duration) *measure.Recorder {
	t.Helper()
	out := measure.NewRecorder(nil)
	if err := o.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := o.Run(t.Context(), env, load.Stage{Length: length, Interval: length / 4, Seed: 3}, out); err != nil {
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

// All five transactions are done, none fails, and what they leave behind is
// consistent; every condition notices when it is broken.
func TestRealConsistency(t *testing.T) {
	s := real(t)
	o := made(t, with(parameter.Settings{"warehouses": "2", "connections": "6"}))
	out := run(t, o, s.env(), 2*time.Second)
	for _, name := range []string{"distribution", "new orders", "consistency"} {
		c := check(t, out, name)
		t.Logf("%s: %s", c.Name, c.Detail)
		if c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	var done [kinds]int64
	for _, in := range out.Intervals() {
		for k, sample := range in.Samples {
			done[k] += sample.Operations
			if sample.Errors > 0 {
				t.Errorf("%s: %d errors", names[k], sample.Errors)
			}
		}
	}
	t.Log(done, out.Values())
	for k, n := range done {
		if n == 0 {
			t.Errorf("no %s was done", names[k])
		}
	}
	db, err := postgres.Dial(t.Context(), s.place(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for number, sql := range map[int]string{
		1: "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_w_id = 2 AND d_id = 3",
		2: "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 1",
		3: "DELETE FROM new_order WHERE (no_w_id, no_d_id, no_o_id) = (SELECT 1, 1, max(no_o_id) - 1 FROM new_order WHERE no_w_id = 1 AND no_d_id = 1)",
		4: "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
		5: "UPDATE orders SET o_carrier_id = 1 WHERE (o_w_id, o_d_id, o_id) = (SELECT no_w_id, no_d_id, no_o_id FROM new_order LIMIT 1)",
		6: "UPDATE order_line SET ol_o_id = 2, ol_number = 99 WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
		7: "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 1 AND ol_number = 1",
		8: "UPDATE history SET h_amount = h_amount + 1 WHERE ctid = (SELECT ctid FROM history WHERE h_w_id = 1 LIMIT 1)",
		9: "UPDATE history SET h_amount = h_amount - 1 WHERE ctid = (SELECT ctid FROM history WHERE h_w_id = 2 LIMIT 1)",
	} {
		if err := db.Exec(t.Context(), "BEGIN; "+sql); err != nil {
			t.Fatal(err)
		}
		c, err := consistent(t.Context(), db, time.Minute)
		if err != nil || c.State != measure.Fail || !strings.Contains(c.Detail, fmt.Sprintf("condition %d,", number)) {
			t.Errorf("condition %d is broken: %+v, %v", number, c, err)
		}
		if err := db.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// What there is no time for is not said to hold.
func TestRealConsistencyTakesNoLonger(t *testing.T) {
	s := real(t)
	db, err := postgres.Dial(t.Context(), s.place(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), "CREATE VIEW warehouse AS SELECT 1 AS w_id, length(pg_sleep(20)::text) AS w_ytd; CREATE TABLE district (d_w_id int, d_ytd int)"); err != nil {
		t.Fatal(err)
	}
	c, err := consistent(t.Context(), db, 50*time.Millisecond)
	if err != nil || c.State != measure.Unknown || !strings.HasPrefix(c.Detail, "0 of 9 conditions were looked at") {
		t.Errorf("%+v, %v", c, err)
	}
}

// Each trial begins with the same data, whatever the one before did.
func TestRealReset(t *testing.T) {
	s := real(t)
	o := made(t, small)
	first := digest(t, o, s)
	run(t, o, s.env(), 300*time.Millisecond)
	if again := digest(t, o, s); again != first {
		t.Errorf("the data is another after a trial:\n%s\n%s", first, again)
	}
	other := made(t, with(parameter.Settings{"items": "201"}))
	if digest(t, other, s) == first {
		t.Error("other items are the same data")
	}
	if err := o.Clean(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	if first != digest(t, o, s) {
		t.Error("made anew, the data is another")
	}
}

// digest prepares the data, and is a sum of all of it.
func digest(t *testing.T, o *orderEntry, s *server) string {
	t.Helper()
	if err := o.Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	db, err := postgres.Dial(t.Context(), s.place(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all []string
	for _, table := range filled {
		rows, err := db.Query(t.Context(), "SELECT count(*), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::int::bigint) FROM "+table.name+" AS t")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, table.name+" "+strings.Join(rows[0], " "))
	}
	return strings.Join(all, ", ")
}

// What the server acknowledged is there after it was killed in the middle.
func TestRealKill(t *testing.T) {
	s := real(t)
	o := made(t, small)
	env := s.env()
	if err := o.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	ledger := &ledger{}
	job, err := o.job(s.places(), load.Stage{Length: 4 * time.Second, Interval: 500 * time.Millisecond, Seed: 5}, ledger)
	if err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	before, err := o.begin(t.Context(), s.places(), out)
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
	if err := o.conclude(t.Context(), conclusion{env: env, at: s.places(), ledger: ledger, before: before, took: time.Second}, out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"new orders", "consistency"} {
		if c := check(t, out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		} else {
			t.Log(c.Detail)
		}
	}
	var first, last, errors int64
	for i, in := range out.Intervals() {
		for _, sample := range in.Samples {
			errors += sample.Errors
			if i == 0 {
				first += sample.Operations
			} else if i == len(out.Intervals())-1 {
				last += sample.Operations
			}
		}
	}
	if first == 0 || last == 0 || errors == 0 {
		t.Errorf("%d transactions at first, %d at last, %d errors", first, last, errors)
	}
}

// A server that has too few sessions, or none for us, is explained.
func TestRealRefusals(t *testing.T) {
	s := real(t)
	db, err := postgres.Dial(t.Context(), s.place(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), "CREATE ROLE poor LOGIN; CREATE ROLE hidden LOGIN CREATEDB PASSWORD 'hush'"); err != nil {
		t.Fatal(err)
	}
	hba := "host all poor all trust\nhost all hidden all scram-sha-256\nhost all all all trust\n"
	if err := os.WriteFile(s.dir+"/data/pg_hba.conf", []byte(hba), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLIMSOLL_TEST_RIGHT", "hush")
	t.Setenv("PLIMSOLL_TEST_WRONG", "hash")
	o := made(t, small)
	for _, c := range []struct{ user, secret, want string }{
		{"poor", "", "may not make databases"},
		{"hidden", "", "env:NAME"},
		{"hidden", "env:PLIMSOLL_TEST_WRONG", "password authentication failed"},
		{"hidden", "env:PLIMSOLL_TEST_RIGHT", ""},
	} {
		env := s.env()
		env.Target = func(string) (load.Endpoint, error) {
			at := s.at
			at.User, at.Secret = c.user, c.secret
			return at, nil
		}
		var err error
		for over := time.Now().Add(5 * time.Second); time.Now().Before(over); <-time.After(20 * time.Millisecond) {
			_, err = o.Check(t.Context(), env)
			if c.want == "" && err == nil || c.want != "" && err != nil && strings.Contains(err.Error(), c.want) {
				break // the server reads the file again in its own time
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s with %q: %v", c.user, c.secret, err)
		}
		if c.want == "" {
			out := run(t, o, env, 200*time.Millisecond)
			if out.Values()["district.new_orders"] == 0 {
				t.Error("over SCRAM nothing was ordered")
			}
		}
	}
	// More sessions than the server has: those that it refuses are counted and explained.
	crowd := made(t, with(parameter.Settings{"connections": "130", "timeout": "2s"}))
	out := run(t, crowd, s.env(), 800*time.Millisecond)
	if c := check(t, out, "connections"); !strings.Contains(c.Detail, "too many clients already") {
		t.Errorf("%+v", c)
	}
	if c := check(t, out, "new orders"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
	gone := &server{at: load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "x", Database: "y"}}
	if _, err := o.Check(t.Context(), gone.env()); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("nobody there: %v", err)
	}
	if err := o.Clean(t.Context(), gone.env()); err != nil {
		t.Errorf("clean where nobody is: %v", err)
	}
}
