package dvdstore

import (
	"maps"
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
	if s.dir, err = os.MkdirTemp("", "dvdstore"); err != nil {
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

func made(t *testing.T, settings parameter.Settings) *store {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return l.(*store)
}

var small = parameter.Settings{"size": "50kB", "reviews_per_product": "5", "connections": "4"}

func with(more parameter.Settings) parameter.Settings {
	all := maps.Clone(small)
	maps.Copy(all, more)
	return all
}

func TestRealContract(t *testing.T) {
	s := real(t)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			with(nil),
			with(parameter.Settings{"mode": "faithful", "rate": "300/s", "arrivals": "poisson", "tick": "1ms"}),
			with(parameter.Settings{"think": "5ms", "reset": "false", "threads": "2"}),
		},
		Env:    func(*testing.T) workload.Env { return s.env() },
		Length: 800 * time.Millisecond,
	})
}

// run prepares a load, runs it and is what it recorded.
func run(t *testing.T, d *store, env workload.Env, length time.Duration) *measure.Recorder {
	t.Helper()
	if err := d.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := d.Run(t.Context(), env, load.Stage{Length: length, Interval: length / 4, Seed: 5}, out); err != nil {
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

// Every kind of call is made, in both modes, and the checks hold.
func TestRealShop(t *testing.T) {
	s := real(t)
	for _, mode := range []string{sound, faithful} {
		d := made(t, with(parameter.Settings{"mode": mode, "connections": "2", "new_members": "20%", "new_reviews": "30%", "ratings": "30%"}))
		env := s.env()
		env.Log = t.Logf
		out := run(t, d, env, time.Second)
		var done [classes]int64
		for _, in := range out.Intervals() {
			for k, sample := range in.Samples {
				done[k] += sample.Operations
				if sample.Errors > 0 {
					t.Errorf("%s, %s: %d errors", mode, names[k], sample.Errors)
				}
			}
		}
		t.Log(mode, done, out.Values())
		for _, c := range out.Checks() {
			t.Log(c)
		}
		for k, n := range done {
			if n == 0 {
				t.Errorf("%s: no %s was done", mode, names[k])
			}
		}
		for _, name := range []string{"distribution", "server's mix", "data"} {
			if c := check(t, out, name); c.State != measure.Pass {
				t.Errorf("%s: %+v", mode, c)
			}
		}
	}
}

// Each trial begins with the same data, whatever the one before did, and what was left
// half done is gone on with.
func TestRealData(t *testing.T) {
	s := real(t)
	d := made(t, small)
	first := digest(t, d, s)
	run(t, d, s.env(), 300*time.Millisecond)
	if again := digest(t, d, s); again != first {
		t.Errorf("the data is another after a trial:\n%s\n%s", first, again)
	}
	db := s.session(t, template)
	before := ask(t, db, "SELECT count(*), min(xmin::text::bigint) FROM customers")
	// A loader that died after the first customers, before the keys.
	for _, sql := range []string{
		"DROP TRIGGER restock ON inventory; DROP TABLE orderlines, reviews_helpfulness CASCADE",
		"CREATE TABLE orderlines (orderlineid smallint NOT NULL, orderid int NOT NULL, prod_id int NOT NULL, quantity smallint NOT NULL, orderdate date NOT NULL)",
		"CREATE TABLE reviews_helpfulness (review_helpfulness_id int NOT NULL, review_id int NOT NULL, customerid int NOT NULL, helpfulness smallint NOT NULL)",
		"DELETE FROM plimsoll WHERE setting = 'made' OR setting = 'references' OR setting ~ 'orderlines' OR setting ~ 'reviews_helpfulness'",
		"ALTER TABLE cust_hist DROP CONSTRAINT cust_hist_customerid_fkey; ALTER TABLE orders DROP CONSTRAINT orders_customerid_fkey",
		"ALTER TABLE membership DROP CONSTRAINT membership_customerid_fkey; ALTER TABLE reviews DROP CONSTRAINT reviews_prod_id_fkey, DROP CONSTRAINT reviews_customerid_fkey",
		"ALTER TABLE customers ALTER customerid DROP DEFAULT; ALTER TABLE orders ALTER orderid DROP DEFAULT; ALTER TABLE reviews ALTER review_id DROP DEFAULT",
		"DROP SEQUENCE customers_customerid_seq, orders_orderid_seq, reviews_review_id_seq",
		"DO $$ DECLARE f text; BEGIN FOR f IN SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'public'::regnamespace LOOP EXECUTE 'DROP FUNCTION ' || f; END LOOP; END $$",
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	db.Close()
	s.session(t, "postgres").Exec(t.Context(), "DROP DATABASE "+database)
	if again := digest(t, d, s); again != first {
		t.Errorf("gone on with, the data is another:\n%s\n%s", first, again)
	}
	if after := ask(t, s.session(t, template), "SELECT count(*), min(xmin::text::bigint) FROM customers"); after != before {
		t.Errorf("customers who were there, %s, were made again, %s", before, after)
	}
	if other := made(t, with(parameter.Settings{"size": "60kB"})); digest(t, other, s) == first {
		t.Error("another size is the same data")
	}
}

func (s *server) session(t *testing.T, name string) *postgres.Conn {
	t.Helper()
	db, err := postgres.Dial(t.Context(), s.place(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func ask(t *testing.T, db *postgres.Conn, sql string) string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(rows[0], " ")
}

// digest prepares the data, and is a sum of all of it.
func digest(t *testing.T, d *store, s *server) string {
	t.Helper()
	if err := d.Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	db := s.session(t, database)
	defer db.Close()
	var all []string
	for _, table := range filled {
		all = append(all, table.name+" "+ask(t, db, "SELECT count(*), sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::int::bigint) FROM "+table.name+" AS t"))
	}
	return strings.Join(all, ", ")
}

// loaded runs a load up to where what came of it is looked at.
func loaded(t *testing.T, d *store, s *server, length time.Duration) (conclusion, *measure.Recorder) {
	t.Helper()
	if err := d.Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	was, err := d.begin(t.Context(), s.places(), out)
	if err != nil {
		t.Fatal(err)
	}
	l := &ledger{}
	job, err := d.job(s.places(), load.Stage{Length: length, Interval: length / 8, Seed: 5}, l, was)
	if err != nil {
		t.Fatal(err)
	}
	if err := socket.Run(t.Context(), job, out); err != nil {
		t.Fatal(err)
	}
	return conclusion{env: s.env(), at: s.places(), ledger: l, before: was}, out
}

// A loss that is planted after the load fails the check of the data, and a call that
// nobody of ours made that of the server's mix.
func TestRealLoss(t *testing.T) {
	s := real(t)
	d := made(t, small)
	c, out := loaded(t, d, s, 400*time.Millisecond)
	db := s.session(t, database)
	for _, sql := range []string{
		"DELETE FROM orderlines WHERE orderid = (SELECT max(orderid) FROM orders) AND orderlineid = 1",
		"DELETE FROM cust_hist WHERE ctid = (SELECT min(ctid) FROM cust_hist)",
		"UPDATE inventory SET sales = sales - 1 WHERE prod_id = 1",
		"UPDATE inventory SET quan_in_stock = quan_in_stock + 5 WHERE prod_id = (SELECT max(prod_id) FROM inventory)",
		"SET session_replication_role = replica; DELETE FROM customers WHERE customerid = (SELECT max(customerid) FROM customers); RESET session_replication_role", // whatever refers to it
		"SET track_functions = 'pl'; SELECT * FROM browse_by_category(1, 1)",
	} {
		if err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	db.Close()
	watch := s.session(t, "postgres")
	for over := time.Now().Add(10 * time.Second); ask(t, watch, "SELECT count(*) FROM pg_stat_activity WHERE datname = '"+database+"'") != "0" && time.Now().Before(over); {
		<-time.After(10 * time.Millisecond) // the session hands over its counts when it ends
	}
	if err := d.conclude(t.Context(), c, out); err != nil {
		t.Fatal(err)
	}
	data := check(t, out, "data")
	for _, want := range []string{"order lines grew by", "history grew by", "pieces sold grew by", "the stock changed by", "customers grew by"} {
		if data.State != measure.Fail || !strings.Contains(data.Detail, want) {
			t.Errorf("%s: %+v", want, data)
		}
	}
	if c := check(t, out, "server's mix"); c.State != measure.Fail || !strings.Contains(c.Detail, "browse_by_category") {
		t.Errorf("%+v", c)
	}
}

// What the server acknowledged is there after it was killed in the middle.
func TestRealKill(t *testing.T) {
	s := real(t)
	d := made(t, small)
	again := make(chan struct{})
	if err := d.Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(800*time.Millisecond, func() {
		defer close(again)
		s.end(syscall.SIGKILL)
		<-time.After(300 * time.Millisecond) // its children see that it is gone
		s.start(t)
	})
	c, out := loaded(t, d, s, 4*time.Second)
	<-again
	if err := d.conclude(t.Context(), c, out); err != nil {
		t.Fatal(err)
	}
	if c := check(t, out, "data"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	} else {
		t.Log(c.Detail)
	}
	if c := check(t, out, "server's mix"); c.State != measure.Unknown || !strings.Contains(c.Detail, "started again") {
		t.Errorf("%+v", c)
	}
	intervals, failed := out.Intervals(), int64(0)
	for _, in := range intervals {
		for _, sample := range in.Samples {
			failed += sample.Errors
		}
	}
	if last := intervals[len(intervals)-1].Samples[purchase]; last.Operations == 0 || failed == 0 {
		t.Errorf("%d purchases at last, %d errors", last.Operations, failed)
	}
}

// Several servers get as much load each, and what they hold is added up.
func TestRealServers(t *testing.T) {
	s, other := real(t), real(t)
	s.at.More = []string{other.at.Address}
	out := run(t, made(t, small), s.env(), 600*time.Millisecond)
	for _, name := range []string{"server's mix", "data"} {
		if c := check(t, out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	for _, one := range []*server{s, other} {
		if n := ask(t, one.session(t, database), "SELECT count(*) > 60 FROM orders"); n != "t" { // 60 were there at first
			t.Errorf("nothing was ordered at %s", one.at.Address)
		}
	}
}

// A user who may only make databases can do all but have the server count.
func TestRealPoorUser(t *testing.T) {
	s := real(t)
	if err := s.session(t, "postgres").Exec(t.Context(), "CREATE ROLE poor LOGIN CREATEDB; CREATE ROLE poorer LOGIN"); err != nil {
		t.Fatal(err)
	}
	d := made(t, small)
	s.at.User = "poorer"
	if _, err := d.Check(t.Context(), s.env()); err == nil || !strings.Contains(err.Error(), "CREATEDB") {
		t.Errorf("who may make no databases: %v", err)
	}
	s.at.User = "poor"
	if _, err := d.Check(t.Context(), s.env()); err != nil {
		t.Error(err)
	}
	out := run(t, d, s.env(), 400*time.Millisecond)
	if c := check(t, out, "server's mix"); c.State != measure.Unknown || !strings.Contains(c.Detail, "GRANT SET ON PARAMETER") {
		t.Errorf("%+v", c)
	}
	if c := check(t, out, "data"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
	gone := s.env()
	gone.Target = func(string) (load.Endpoint, error) {
		return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "x"}, nil
	}
	if _, err := d.Check(t.Context(), gone); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("nobody there: %v", err)
	}
	if err := d.Clean(t.Context(), gone); err != nil {
		t.Errorf("clean where nobody is: %v", err)
	}
}
