package dvdstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

// TestReal holds what both engines have to, with one server of each.
func TestReal(t *testing.T) {
	t.Parallel()
	for _, protocol := range engine.Protocols() {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := start(t, protocol)
			for _, c := range []struct {
				name string
				test func(t *testing.T, s *enginetest.Server)
			}{
				{"contract", realContract}, {"shop", realShop}, {"data", realData}, {"loss", realLoss}, {"kill", realKill},
				{"servers", realServers}, {"other data", realOtherData}, {"poor user", realPoorUser},
			} {
				t.Run(c.name, func(t *testing.T) { c.test(t, s) })
			}
		})
	}
}

// start starts a server, which counts calls of each procedure.
func start(t *testing.T, protocol string) *enginetest.Server {
	t.Helper()
	setup := enginetest.Setup{Protocol: protocol}
	if protocol == engine.MariaDB {
		setup.Words = []string{"--performance-schema"}
	}
	return enginetest.Start(t, setup)
}

func env(s *enginetest.Server) workload.Env {
	return workload.Env{Seed: 7, Target: s.Target, Log: func(string, ...any) {}}
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

func realContract(t *testing.T, s *enginetest.Server) {
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			with(nil),
			with(parameter.Settings{"mode": "faithful", "rate": "300/s", "arrivals": "poisson", "tick": "1ms"}),
			with(parameter.Settings{"think": "5ms", "reset": "false", "threads": "2"}),
		},
		Env:    func(*testing.T) workload.Env { return env(s) },
		Length: 500 * time.Millisecond,
	})
}

func prepared(t *testing.T, d *store, s *enginetest.Server) {
	t.Helper()
	if err := d.Prepare(t.Context(), env(s)); err != nil {
		t.Fatal(err)
	}
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

// done are the operations of each class, and all that failed.
func done(out *measure.Recorder) (done [classes]int64, failed int64) {
	for _, in := range out.Intervals() {
		for k, sample := range in.Samples {
			done[k] += sample.Operations
			failed += sample.Errors
		}
	}
	return done, failed
}

// run prepares a load, runs it and is what it recorded.
func run(t *testing.T, d *store, s *enginetest.Server, length time.Duration) *measure.Recorder {
	t.Helper()
	prepared(t, d, s)
	env, out := env(s), measure.NewRecorder(nil)
	env.Log = t.Logf
	if err := d.Run(t.Context(), env, load.Stage{Length: length, Interval: length / 4, Seed: 5}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every kind of call is made, in both modes, and the checks hold.
func realShop(t *testing.T, s *enginetest.Server) {
	for _, mode := range []string{sound, faithful} {
		d := made(t, with(parameter.Settings{"mode": mode, "connections": "2", "new_members": "20%", "new_reviews": "30%", "ratings": "30%"}))
		prepared(t, d, s)
		env, out := env(s), measure.NewRecorder(func(r *measure.Recorder) bool {
			each, _ := done(r)
			return slices.Min(each[:]) > 0 && each[purchase] > 50
		})
		env.Log = t.Logf
		if err := d.Run(t.Context(), env, load.Stage{Length: 30 * time.Second, Interval: 250 * time.Millisecond, Seed: 5}, out); err != nil {
			t.Fatal(err)
		}
		done, failed := done(out)
		t.Log(mode, done, out.Values())
		for k, n := range done {
			if n == 0 {
				t.Errorf("%s: no %s was done", mode, names[k])
			}
		}
		for _, name := range []string{"distribution", "server's mix", "data"} {
			if c := check(t, out, name); c.State != measure.Pass || failed > 0 {
				t.Errorf("%s: %+v, %d failed", mode, c, failed)
			} else {
				t.Log(c.Detail)
			}
		}
		if out.Values()["found"] == 0 {
			t.Errorf("%s: no search finds anything", mode)
		}
	}
}

func ask(t *testing.T, db engine.Conn, sql string) [][]string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// content is all rows of a database, in any order.
func content(t *testing.T, db engine.Conn) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		for _, row := range ask(t, db, "SELECT * FROM "+table.Name) {
			all[table.Name] = append(all[table.Name], strings.Join(row, "\t"))
		}
		slices.Sort(all[table.Name])
	}
	return all
}

// same says which tables are not the same.
func same(a, b map[string][]string) (other []string) {
	for _, table := range tables {
		if !slices.Equal(a[table.Name], b[table.Name]) {
			other = append(other, table.Name)
		}
	}
	return other
}

// statementsOfUsers is what users do one after the other, by the functions of the database.
var statementsOfUsers = []string{
	"login('user7', 'password')", "login('user7', 'secret')", "browse_by_category(1000, 3)",
	"browse_by_actor(1000, '%s')", "browse_by_title(1000, '%s')", "reviews_by_actor(5, 500, '%s')", "reviews_by_title(5, 500, '%s')",
	"reviews_of(9, 3, 1)", "reviews_by_stars(9, 3, 2)", "reviews_by_date(1, 3, 1)",
	"new_customer('A', 'B', 'C', '', 'E', 'F', '1', 'G', '1', 'H', '1', '2', '3', '4', '55', '60000', 'M', 'newuser1', 'password')",
	"new_customer('A', 'B', 'C', '', 'E', 'F', '1', 'G', '1', 'H', '1', '2', '3', '4', '55', '60000', 'M', 'newuser1', 'password')",
	"new_member(101, 2)", "new_member(101, 2)", "new_review(3, 4, 101, 'so so', 'what a film')", "rate_review(26, 101, 9)",
	"purchase(101, 3, 10.00, 0.83, 10.83, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1)",
	"login('newuser1', 'password')",
}

// Both engines hold the same data, and what users do has the same results and leaves the
// same behind.
func TestRealEnginesAgree(t *testing.T) {
	t.Parallel()
	d := made(t, small)
	var first [2]map[string][]string
	var results, last [2][]string
	for n, protocol := range engine.Protocols() {
		s := start(t, protocol)
		prepared(t, d, s)
		db := s.Dial(t, database)
		first[n] = content(t, db)
		product := ask(t, db, "SELECT title, actor FROM products WHERE prod_id = 3")[0]
		ask(t, db, "UPDATE inventory SET quan_in_stock = 4 WHERE prod_id = 1; UPDATE inventory SET quan_in_stock = 3 WHERE prod_id = 3; "+
			"UPDATE products SET category = 3, special = 1 WHERE prod_id < 4; UPDATE reviews SET stars = 2 WHERE prod_id = 3")
		for _, what := range statementsOfUsers {
			verb, word := "SELECT * FROM ", product[0]
			if protocol == engine.MariaDB {
				verb = "CALL "
			}
			if strings.Contains(what, "actor") {
				word = product[1]
			}
			if strings.Contains(what, "%s") {
				what = fmt.Sprintf(what, word)
			}
			var rows []string
			for _, row := range ask(t, db, verb+what) {
				rows = append(rows, strings.Join(row, "|"))
			}
			slices.Sort(rows)
			results[n] = append(results[n], what+": "+strings.Join(rows, "; "))
		}
		if _, err := db.Query(t.Context(), map[string]string{engine.PostgreSQL: "SELECT ", engine.MariaDB: "CALL "}[protocol]+
			"purchase(101, 1, 1, 1, 2, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 9999, 1, 1, 1, 1, 1, 1, 1, 1, 1)"); err == nil || !strings.Contains(err.Error(), "too little") {
			t.Errorf("more is sold than there is: %v", err)
		}
		for name, rows := range content(t, db) {
			last[n] = append(last[n], fmt.Sprint(name, rows))
		}
		slices.Sort(last[n])
		// The first product was ordered anew when 3 of 4 were sold, the third when 1 of 3 was.
		if got := ask(t, db, "SELECT prod_id, quan_low FROM reorder ORDER BY prod_id"); len(got) != 2 || got[0][1] != "249" || got[1][1] != "248" {
			t.Errorf("%s: ordered anew: %v", protocol, got)
		}
		db.Close()
		s.End(t, syscall.SIGINT)
	}
	if other := same(first[0], first[1]); len(other) > 0 {
		t.Errorf("other data: %v", other)
	}
	for n, one := range results[0] {
		if one != results[1][n] || n != 1 && strings.HasSuffix(one, ": ") {
			t.Errorf("on PostgreSQL %s\non MariaDB %s", one, results[1][n])
		}
	}
	for n, one := range last[0] {
		if one != last[1][n] {
			t.Errorf("left behind on PostgreSQL %.2000s\non MariaDB %.2000s", one, last[1][n])
		}
	}
}

// Each trial begins with the same data, whatever the one before did; and a fill whose
// server was killed in the middle is gone on with.
func realData(t *testing.T, s *enginetest.Server) {
	d := made(t, small)
	prepared(t, d, s)
	whole := content(t, s.Dial(t, database))
	run(t, d, s, 300*time.Millisecond)
	prepared(t, d, s)
	if other := same(whole, content(t, s.Dial(t, database))); len(other) > 0 {
		t.Errorf("after a trial there is other data: %v", other)
	}
	if err := d.Clean(t.Context(), env(s)); err != nil {
		t.Fatal(err)
	}
	// Two pieces of customers are there, and a part of the reviews, when the server dies.
	interrupted := d.data(s.Protocol, 7)
	stop := slices.IndexFunc(interrupted.Fill, func(j dataset.Job) bool { return j.Label == "reviews 0" })
	interrupted.Loaders = 1
	fill := interrupted.Fill[stop].Do
	interrupted.Fill[stop] = dataset.Job{Label: interrupted.Fill[stop].Label, Do: func(ctx context.Context, db engine.Conn) error {
		if err := fill(ctx, db); err != nil {
			return err
		}
		s.End(t, syscall.SIGKILL)
		return db.Exec(ctx, "SELECT 1")
	}}
	if err := interrupted.Prepare(t.Context(), []engine.Server{s.Server(t)}); err == nil {
		t.Fatal("a server that was killed is not noticed")
	}
	s.Begin(t)
	name := database
	if s.Protocol == engine.PostgreSQL {
		name += "_base"
	}
	begun := s.Dial(t, name)
	notes := ask(t, begun, "SELECT setting FROM plimsoll")
	begun.Close()
	prepared(t, d, s)
	if other := same(whole, content(t, s.Dial(t, database))); len(other) > 0 || len(notes) != stop+1 {
		t.Errorf("gone on with after %d of %d pieces, there is other data: %v", len(notes)-1, stop, other)
	}
	if s.Protocol == engine.PostgreSQL {
		return // what was not noted was not done
	}
	// MariaDB may have made keys, references and procedures that it had no time to note.
	again := s.Dial(t, database)
	ask(t, again, "DELETE FROM plimsoll WHERE setting LIKE 'key %' OR setting LIKE 'program %' OR setting = 'made'")
	prepared(t, d, s)
	if other := same(whole, content(t, again)); len(other) > 0 {
		t.Errorf("with keys made twice, there is other data: %v", other)
	}
}

// loaded runs a load until it is enough, up to the check of its result.
func loaded(t *testing.T, d *store, s *enginetest.Server, enough func(*measure.Recorder) bool) (*course, *measure.Recorder) {
	t.Helper()
	prepared(t, d, s)
	out := measure.NewRecorder(enough)
	stage := load.Stage{Length: time.Minute, Interval: 100 * time.Millisecond, Seed: 5}
	c, err := d.trial(trial{Env: env(s), Stage: stage, Out: out}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c, out
}
