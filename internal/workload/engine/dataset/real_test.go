package dataset

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
)

// set has two tables, the second of which is written by a trigger of the first.
func set(protocol string, fill func(number int) error) Set {
	d := Set{Name: "plimsoll_set", Note: "1: x", Reset: true, Loaders: 3}
	d.Tables, d.Keys = Schema(protocol, []Table{
		{Name: "a", Columns: "i int NOT NULL, at timestamp, name varchar(20)", Key: "i", Indexes: []Index{{Name: "a_at", Columns: "at"}}},
		{Name: "b", Columns: "i int NOT NULL", Key: "i"},
	})
	for n := range 5 {
		rows := Rows("rows "+strconv.Itoa(n), "a", "", func() func([]byte) ([]byte, bool) {
			i := 0
			return func(b []byte) ([]byte, bool) {
				i++
				return fmt.Appendf(b, "%d\t2026-01-02 03:04:05\tnö%d\n", 1000*n+i, n), i < 1000
			}
		})
		d.Fill = append(d.Fill, Job{Label: rows.Label, Do: func(ctx context.Context, s engine.Conn) error {
			if err := fill(n); err != nil {
				return err
			}
			return rows.Do(ctx, s)
		}})
	}
	d.Programs = []string{
		"CREATE OR REPLACE FUNCTION follow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO b VALUES (NEW.i); RETURN NEW; END $$",
		"CREATE TRIGGER after_a AFTER INSERT ON a FOR EACH ROW EXECUTE FUNCTION follow()",
	}
	if protocol == engine.MariaDB {
		d.Programs = []string{"CREATE OR REPLACE TRIGGER after_a AFTER INSERT ON a FOR EACH ROW BEGIN INSERT INTO b VALUES (NEW.i); END"}
	}
	return d
}

var whole = []Condition{
	{1, "all rows are there", "SELECT count(*) - 5000 FROM a"},
	{2, "they are all different", "SELECT count(*) FROM (SELECT 1 FROM a GROUP BY i HAVING count(*) > 1) AS more"},
	{3, "none was followed", "SELECT count(*) FROM b"},
	{4, "text is what was sent", "SELECT count(*) FROM a WHERE char_length(name) <> 3 OR name NOT LIKE 'nö_'"},
}

// What was begun is gone on with, a copy is like what it is copied from, and what was used
// is made anew.
func TestRealSet(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		at := s.Server(t)
		var filled []int
		trouble := errors.New("the fourth fails")
		broken := set(s.Protocol, func(n int) error {
			if n == 3 {
				return trouble
			}
			return nil
		})
		broken.Loaders = 1
		if err := broken.Prepare(t.Context(), []engine.Server{at}); !errors.Is(err, trouble) {
			t.Fatal(err)
		}
		d := set(s.Protocol, func(n int) error { filled = append(filled, n); return nil })
		d.Loaders = 1
		if err := d.Prepare(t.Context(), []engine.Server{at}); err != nil || !slices.Equal(filled, []int{3, 4}) {
			t.Fatalf("%v; filled again: %v", err, filled)
		}
		for trial := range 2 {
			inside := s.Dial(t, d.Name)
			if c, err := Consistent(t.Context(), inside, time.Minute, whole); err != nil || c.State != measure.Pass {
				t.Fatalf("trial %d: %+v, %v", trial, c, err)
			}
			if err := Use(t.Context(), inside); err != nil {
				t.Fatal(err)
			}
			if err := inside.Exec(t.Context(), "INSERT INTO a (i) VALUES (7000); DELETE FROM a WHERE i = 5"); err != nil {
				t.Fatal(err)
			}
			if c, err := Consistent(t.Context(), inside, time.Minute, whole); err != nil || c.Detail != "condition 3, none was followed, is violated 1 times" {
				t.Errorf("the trigger is not there: %+v, %v", c, err)
			}
			inside.Close()
			if err := d.Prepare(t.Context(), []engine.Server{at}); err != nil || len(filled) != 2 {
				t.Fatalf("%v; filled again: %v", err, filled)
			}
		}
		d.Note = "2: y"
		if err := d.Prepare(t.Context(), []engine.Server{at}); err != nil || len(filled) != 7 {
			t.Fatalf("other data is the same: %v; %v", err, filled)
		}
		if err := d.Clean(t.Context(), s.Target, connect); err != nil {
			t.Fatal(err)
		}
		if _, err := engine.Dial(t.Context(), at, d.Name); !engine.Absent(err) {
			t.Errorf("it is still there: %v", err)
		}
	})
}

// Many rows are written in parts, and those that were written before an interruption are
// not written again.
func TestRealParts(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		at := []engine.Server{s.Server(t)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		d := set(s.Protocol, nil)
		job := Rows("rows", "a", "", func() func([]byte) ([]byte, bool) {
			i := 0
			return func(b []byte) ([]byte, bool) {
				if i++; i == 2500 {
					cancel()
				}
				return fmt.Appendf(b, "%d\t2026-01-02 03:04:05\tnö1\n", i), i < 5000
			}
		})
		job.rows.most = 20_000
		d.Fill = []Job{job}
		if err := d.Prepare(ctx, at); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		base := d.Name
		if d.copied(s.Protocol) {
			base = d.base()
		}
		inside := s.Dial(t, base)
		there, err := said(t.Context(), inside, base)
		if err != nil {
			t.Fatal(err)
		}
		calls, err := strconv.Atoi(there[progress("rows")])
		if err != nil || calls < 1000 || calls >= 2500 || there["rows"] != "" {
			t.Fatalf("the notes are %v, %v", there, err)
		}
		rows, err := inside.Query(t.Context(), "SELECT count(*), max(i) FROM a")
		if want := strconv.Itoa(calls); err != nil || rows[0][0] != want || rows[0][1] != want {
			t.Errorf("after %d calls the rows are %v, %v", calls, rows, err)
		}
		inside.Close()
		if err := d.Prepare(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		if c, err := Consistent(t.Context(), s.Dial(t, d.Name), time.Minute, whole); err != nil || c.State != measure.Pass {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// A server waits for rows that take long to make, longer than it waits for other clients.
func TestRealSlowRows(t *testing.T) {
	s := enginetest.Start(t, enginetest.Setup{Protocol: engine.MariaDB, Words: []string{"--net-read-timeout=1"}})
	at := []engine.Server{s.Server(t)}
	d := set(s.Protocol, nil)
	rows := func() func([]byte) ([]byte, bool) {
		i := 0
		return func(b []byte) ([]byte, bool) {
			if i++; i == 1 {
				<-time.After(1500 * time.Millisecond)
			}
			return fmt.Appendf(b, "%d\t2026-01-02 03:04:05\tnö1\n", i), i < 5000
		}
	}
	d.Fill = []Job{Rows("rows", "a", "", rows)}
	d.Undo = []Job{SQL("empty", "TRUNCATE TABLE a; TRUNCATE TABLE b"), Rows("rows", "a", "", rows), SQL("follow", "TRUNCATE TABLE b")}
	for trial := range 2 {
		if err := d.Prepare(t.Context(), at); err != nil {
			t.Fatalf("trial %d: %v", trial, err)
		}
		inside := s.Dial(t, d.Name)
		if c, err := Consistent(t.Context(), inside, time.Minute, whole); err != nil || c.State != measure.Pass {
			t.Errorf("trial %d: %+v, %v", trial, c, err)
		}
		if err := Use(t.Context(), inside); err != nil {
			t.Error(err)
		}
	}
}

// What takes too long is not judged, and what is broken is told.
func TestRealConsistent(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		c := s.Dial(t, "")
		long := "SELECT count(*) FROM (SELECT pg_sleep(20)) AS s"
		if s.Protocol == engine.MariaDB {
			long = "SELECT sleep(20) + 0"
		}
		check, err := Consistent(t.Context(), c, 300*time.Millisecond, []Condition{{1, "all is well", "SELECT 0"}, {2, "it ends", long}})
		if err != nil || check.State != measure.Unknown || !strings.Contains(check.Detail, "1 of 2 conditions") {
			t.Errorf("%+v, %v", check, err)
		}
		if err := c.Exec(t.Context(), strings.ReplaceAll(strings.ReplaceAll(long, "(20)", "(0.5)"), "20", "0")); err != nil {
			t.Errorf("the limit stays: %v", err)
		}
		check, err = Consistent(t.Context(), c, time.Minute, []Condition{{1, "all is well", "SELECT 0"}, {7, "it is not", "SELECT 3"}})
		if err != nil || check.State != measure.Fail || check.Detail != "condition 7, it is not, is violated 3 times" {
			t.Errorf("%+v, %v", check, err)
		}
	})
}

// Where MariaDB can take back what a load did, it does that, and there is no copy.
func TestRealUndo(t *testing.T) {
	s := enginetest.Start(t, enginetest.Setup{Protocol: engine.MariaDB})
	at := []engine.Server{s.Server(t)}
	d := set(s.Protocol, func(int) error { return nil })
	d.Undo = []Job{SQL("rows", "DELETE FROM a WHERE i > 5000; DELETE FROM b")}
	for trial := range 2 {
		if err := d.Prepare(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		inside := s.Dial(t, d.Name)
		if c, err := Consistent(t.Context(), inside, time.Minute, whole); err != nil || c.State != measure.Pass {
			t.Errorf("trial %d: %+v, %v", trial, c, err)
		}
		if err := errors.Join(d.Holds(t.Context(), inside), Use(t.Context(), inside), inside.Exec(t.Context(), "INSERT INTO a VALUES (5001, now(), 'x')")); err != nil {
			t.Error(err)
		}
	}
	if _, err := engine.Dial(t.Context(), at[0], d.base()); !engine.Absent(err) {
		t.Errorf("there is a copy: %v", err)
	}
	broken := d
	broken.Undo = append(broken.Undo, Job{Label: "more", Do: func(context.Context, engine.Conn) error { return ErrSpoilt }})
	if err := errors.Join(s.Dial(t, d.Name).Exec(t.Context(), "DELETE FROM a WHERE i = 7"), broken.Prepare(t.Context(), at)); err != nil {
		t.Error(err)
	}
	inside := s.Dial(t, d.Name)
	if c, err := Consistent(t.Context(), inside, time.Minute, whole); err != nil || c.State != measure.Pass {
		t.Errorf("what is spoilt is made anew: %+v, %v", c, err)
	}
	if err := Use(t.Context(), inside); err != nil {
		t.Error(err)
	}
	broken.Undo = []Job{SQL("rows", "DELETE FROM nothing")}
	if err := broken.Prepare(t.Context(), at); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("what cannot be taken back: %v", err)
	}
}

// A user who may only make the databases of the load gets on without the rest, and one who
// may not is told so.
func TestRealClerk(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		hire, want := "CREATE ROLE clerk LOGIN CREATEDB; CREATE ROLE reader LOGIN", "CREATEDB"
		if s.Protocol == engine.MariaDB {
			hire, want = "CREATE USER clerk; CREATE USER reader; GRANT ALL ON `plimsoll%`.* TO clerk", "GRANT ALL ON `plimsoll_set%`.*"
		}
		if err := s.Dial(t, "").Exec(t.Context(), hire); err != nil {
			t.Fatal(err)
		}
		d := set(s.Protocol, func(int) error { return nil })
		s.At.User = "reader"
		env := workload.Env{Target: s.Target}
		data := func(string, uint64) Set { return d }
		if _, err := Needs(t.Context(), env, data, 1<<20, 1e6); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("a reader may: %v", err)
		}
		if err := d.Prepare(t.Context(), []engine.Server{s.Server(t)}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("a reader makes them: %v", err)
		}
		dial := func(ctx context.Context, at load.Endpoint) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, at.Network, at.Address)
		}
		if err := d.Clean(t.Context(), s.Target, dial); err != nil {
			t.Errorf("a reader, for whom nothing was made, removes nothing: %v", err)
		}
		s.At.User = "clerk"
		at := s.Server(t)
		if needs, err := Needs(t.Context(), env, data, 1<<20, 1e6); err != nil || len(needs.Changes) != 1 || !strings.Contains(needs.Changes[0], "plimsoll_set and plimsoll_set_base on the server, of about 2.00MiB in all") {
			t.Errorf("%+v, %v", needs, err)
		}
		if err := d.Prepare(t.Context(), []engine.Server{at}); err != nil {
			t.Fatal(err)
		}
		inside := s.Dial(t, d.Name)
		if err := Use(t.Context(), inside); err != nil {
			t.Error(err)
		}
		if c, err := Consistent(t.Context(), inside, time.Minute, whole); err != nil || c.State != measure.Pass {
			t.Errorf("%+v, %v", c, err)
		}
		if s.Protocol == engine.MariaDB {
			inside.Close()
			s.At.User = "root"
			if err := s.Dial(t, "").Exec(t.Context(), "REVOKE DROP ON `plimsoll%`.* FROM clerk"); err != nil {
				t.Fatal(err)
			}
			s.At.User = "clerk"
			if err := d.Clean(t.Context(), s.Target, dial); !engine.Forbidden(err) {
				t.Errorf("what was made and may not be removed: %v", err)
			}
		}
	})
}

// What differs, or what one side alone has, is counted.
func TestRealUnequal(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		c := s.Dial(t, "")
		if err := c.Exec(t.Context(), "CREATE DATABASE sides"); err != nil {
			t.Fatal(err)
		}
		c = s.Dial(t, "sides")
		if err := c.Exec(t.Context(), "CREATE TABLE a (k int, v int); CREATE TABLE b (k int, v int); INSERT INTO a VALUES (1, 7), (2, 8), (3, 9); INSERT INTO b VALUES (1, 7), (2, 9), (4, 1)"); err != nil {
			t.Fatal(err)
		}
		for where, want := range map[string]string{"k < 2": "0", "k > 0": "3"} {
			rows, err := c.Query(t.Context(), Unequal("k", "SELECT k, v AS n FROM a WHERE "+where, "SELECT k, -v FROM b WHERE "+where))
			if err != nil || rows[0][0] != want {
				t.Errorf("%s: %v, %v", where, rows, err)
			}
		}
	})
}

// That a database is not there yet is found out without an error in the server's log.
func TestRealQuietLog(t *testing.T) {
	s := enginetest.Start(t, enginetest.Setup{Protocol: engine.PostgreSQL, Words: []string{"-c", "logging_collector=on", "-c", "log_filename=said"}})
	d := set(s.Protocol, func(int) error { return nil })
	if err := d.Prepare(t.Context(), []engine.Server{s.Server(t)}); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(filepath.Join(s.Dir, "data", "log", "said"))
	if err != nil || !strings.Contains(string(said), "LOG:") || strings.Contains(string(said), "does not exist") {
		t.Errorf("%v; the server says:\n%s", err, said)
	}
}
