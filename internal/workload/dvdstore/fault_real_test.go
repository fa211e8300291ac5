package dvdstore

import (
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/engine"
)

// What is planted after a load: rows that are lost, and a call that nobody of ours made.
// They are more than what calls may have done whose answer is not known.
var losses = map[string][]string{
	"": {
		"UPDATE inventory SET sales = sales - 1000 WHERE prod_id = 1",
		"UPDATE inventory SET quan_in_stock = quan_in_stock + 5 WHERE prod_id = 2",
		"DELETE FROM orderlines WHERE orderid <= 40", "DELETE FROM cust_hist WHERE orderid <= 40",
	},
	engine.PostgreSQL: {
		"SET session_replication_role = replica; DELETE FROM customers WHERE customerid <= 10; RESET session_replication_role", // whatever refers to them
		"SET track_functions = 'pl'; SELECT browse_by_category(1, 1) FROM generate_series(1, 10)",
	},
	engine.MariaDB: {
		"SET foreign_key_checks = 0; DELETE FROM customers WHERE customerid <= 10; SET foreign_key_checks = 1",
		strings.Repeat("CALL browse_by_category(1, 1);", 10),
	},
}

// A loss that is planted after the load fails the check of the data, and a call that
// nobody of ours made that of the server's mix.
func realLoss(t *testing.T, s *enginetest.Server) {
	d := made(t, small)
	c, out := loaded(t, d, s, func(r *measure.Recorder) bool { done, _ := done(r); return done[purchase] > 50 })
	db := s.Dial(t, database)
	for _, sql := range append(losses[""], losses[s.Protocol]...) {
		ask(t, db, sql)
	}
	db.Close()
	if s.Protocol == engine.PostgreSQL {
		watch := s.Dial(t, "postgres")
		for over := time.Now().Add(10 * time.Second); ask(t, watch, "SELECT count(*) FROM pg_stat_activity WHERE datname = '"+database+"'")[0][0] != "0" && time.Now().Before(over); {
			<-time.After(10 * time.Millisecond) // the session hands over its counts when it ends
		}
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
	// The next trial begins with the first data all the same.
	prepared(t, d, s)
	if n := ask(t, s.Dial(t, database), "SELECT count(*) FROM customers")[0][0]; n != strconv.Itoa(d.size().customers) {
		t.Errorf("the next trial begins with %s customers", n)
	}
}

// What the server acknowledged is there after it was killed in the middle.
func realKill(t *testing.T, s *enginetest.Server) {
	d := made(t, small)
	prepared(t, d, s)
	again := make(chan struct{})
	var kill sync.Once
	c, out := loaded(t, d, s, func(r *measure.Recorder) bool {
		if done, _ := done(r); done[purchase] > 50 {
			kill.Do(func() {
				go func() {
					defer close(again)
					s.End(t, syscall.SIGKILL)
					s.Begin(t)
				}()
			})
		}
		select {
		case <-again: // and the load goes on
			all := r.Intervals()
			return all[len(all)-1].Samples[purchase].Operations > 0
		default:
			return false
		}
	})
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
	intervals := out.Intervals()
	if _, failed := done(out); intervals[len(intervals)-1].Samples[purchase].Operations == 0 || failed == 0 {
		t.Errorf("%d errors, and nobody buys at last", failed)
	}
}

// Several servers get as much load each, and what they hold is added up.
func realServers(t *testing.T, s *enginetest.Server) {
	other := start(t, s.Protocol)
	s.At.More = []string{other.At.Address}
	defer func() { s.At.More = nil }()
	out := run(t, made(t, small), s, 600*time.Millisecond)
	for _, name := range []string{"server's mix", "data"} {
		if c := check(t, out, name); c.State != measure.Pass {
			t.Errorf("%+v", c)
		}
	}
	for _, one := range []*enginetest.Server{s, other} {
		if n := ask(t, one.Dial(t, database), "SELECT count(*) FROM orders WHERE orderid > 60"); n[0][0] == "0" { // 60 were there at first
			t.Errorf("nothing was ordered at %s", one.At.Address)
		}
	}
}

// Data that is not what was prepared is noticed before a load.
func realOtherData(t *testing.T, s *enginetest.Server) {
	d := made(t, with(parameter.Settings{"reset": "false"}))
	stage := load.Stage{Length: 100 * time.Millisecond, Interval: 100 * time.Millisecond}
	refused := func(what string, d *store) {
		t.Helper()
		if err := d.Run(t.Context(), env(s), stage, measure.NewRecorder(nil)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		} else {
			t.Log(what, err)
		}
	}
	if err := d.Clean(t.Context(), env(s)); err != nil {
		t.Fatal(err)
	}
	refused("nothing is there", d)
	prepared(t, d, s)
	refused("data of another mode", made(t, with(parameter.Settings{"mode": "faithful"})))
	refused("data of another size", made(t, with(parameter.Settings{"size": "60kB"})))
	db := s.Dial(t, database)
	ask(t, db, "UPDATE plimsoll SET value = concat('9', value) WHERE setting = 'want'")
	refused("data of a newer version", d)
	ask(t, db, "UPDATE plimsoll SET value = substr(value, 2) WHERE setting = 'want'; DELETE FROM plimsoll WHERE setting = 'made'")
	refused("incomplete data", d)
	prepared(t, d, s)
	if err := d.Run(t.Context(), env(s), stage, measure.NewRecorder(nil)); err != nil {
		t.Error(err)
	}
}

// A user who may only make these databases can do all but enable call statistics of
// each function.
func realPoorUser(t *testing.T, s *enginetest.Server) {
	grants, missing, counted := "CREATE ROLE poor LOGIN CREATEDB; CREATE ROLE poorer LOGIN", "CREATEDB", "GRANT SET ON PARAMETER"
	if s.Protocol == engine.MariaDB {
		grants = "CREATE USER poor; GRANT ALL ON `plimsoll_dvdstore%`.* TO poor; CREATE USER poorer"
		missing, counted = "GRANT ALL ON `plimsoll_dvdstore%`.*", "calls in all"
	}
	ask(t, s.Dial(t, ""), grants)
	at, d := s.At, made(t, small)
	defer func() { s.At = at }()
	if err := d.Clean(t.Context(), env(s)); err != nil { // what another user made
		t.Fatal(err)
	}
	s.At.User = "poorer"
	if _, err := d.Check(t.Context(), env(s)); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("who may make no databases: %v", err)
	}
	s.At.User = "poor"
	if needs, err := d.Check(t.Context(), env(s)); err != nil || len(needs.Changes) != 1 {
		t.Error(needs, err)
	}
	out := run(t, d, s, 400*time.Millisecond)
	if c := check(t, out, "server's mix"); !strings.Contains(c.Detail, counted) || (c.State == measure.Unknown) != (s.Protocol == engine.PostgreSQL) {
		t.Errorf("%+v", c)
	}
	if c := check(t, out, "data"); c.State != measure.Pass {
		t.Errorf("%+v", c)
	}
	s.At.Address = "127.0.0.1:1"
	if _, err := d.Check(t.Context(), env(s)); err == nil || !strings.Contains(err.Error(), "nothing listens there") {
		t.Errorf("no server: %v", err)
	}
	if err := d.Clean(t.Context(), env(s)); err != nil {
		t.Errorf("clean where nobody is: %v", err)
	}
}
