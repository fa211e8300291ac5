package dataset

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
)

func connect(ctx context.Context, at load.Endpoint) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, at.Network, at.Address)
}

// Where nobody listens, one line says so and nothing waits.
func TestNobodyListens(t *testing.T) {
	for _, protocol := range engine.Protocols() {
		d := Set{Name: "x", Note: "1", Reset: true, Loaders: 3}
		at := engine.Server{Protocol: protocol, Target: wire.Target{Network: "tcp", Address: "127.0.0.1:1", User: "x", Database: "y"}}
		jobs := make([]Job, 100)
		for i := range jobs {
			jobs[i] = Job{Label: "a", Do: func(context.Context, engine.Conn) error { t.Error("a job is done without a session"); return nil }}
		}
		for what, do := range map[string]func() error{
			"prepare":  func() error { return d.Prepare(t.Context(), []engine.Server{at, at}) },
			"allowed":  func() error { return d.allowed(t.Context(), at) },
			"together": func() error { return d.together(t.Context(), place{at, "x"}, jobs) },
		} {
			if err := do(); err == nil || !strings.Contains(err.Error(), "nothing listens there") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := d.together(t.Context(), place{at, "x"}, nil); err != nil {
			t.Errorf("nothing to do: %v", err)
		}
		// A server that is gone holds nothing.
		if err := d.Clean(t.Context(), func(string) (load.Endpoint, error) {
			return load.Endpoint{Network: "tcp", Address: "127.0.0.1:1", User: "x"}, nil
		}, connect); err != nil {
			t.Error(err)
		}
	}
	if err := (Set{Name: "x"}).Clean(t.Context(), nil, nil); err != nil {
		t.Errorf("no service: %v", err)
	}
}

func TestSchema(t *testing.T) {
	list := []Table{
		{Name: "a", Columns: "i int NOT NULL, at timestamp", Key: "i", Room: 10, Indexes: []Index{{Name: "a_at", Columns: "at"}, {Name: "a_b", Columns: "at, i", Unique: true}}},
		{Name: "b", Columns: "t varchar(9)"},
	}
	for _, c := range []struct{ protocol, create, keys string }{
		{
			engine.PostgreSQL, "CREATE TABLE a (i int NOT NULL, at timestamp) WITH (fillfactor = 90);\nCREATE TABLE b (t varchar(9));\n",
			"ALTER TABLE a ADD PRIMARY KEY (i)|CREATE INDEX a_at ON a (at)|CREATE UNIQUE INDEX a_b ON a (at, i)",
		},
		{
			engine.MariaDB, "CREATE TABLE a (i int NOT NULL, at datetime(6), PRIMARY KEY (i)) ENGINE = InnoDB;\nCREATE TABLE b (t varchar(9)) ENGINE = InnoDB;\n",
			"ALTER TABLE a ADD INDEX IF NOT EXISTS a_at (at), ADD UNIQUE INDEX IF NOT EXISTS a_b (at, i)",
		},
	} {
		if create, keys := Schema(c.protocol, list); create != c.create || strings.Join(keys, "|") != c.keys {
			t.Errorf("%s:\n%s%s", c.protocol, create, strings.Join(keys, "|"))
		}
	}
}

// A database that is copied for each trial takes twice the space; one in which a load is
// taken back does not.
func TestNeedsOfAServiceThatWillBeStarted(t *testing.T) {
	data := func(protocol string, _ uint64) Set {
		d := Set{Reset: true}
		if protocol == engine.MariaDB {
			d.Undo = []Job{SQL("all", "DELETE FROM a")}
		}
		return d
	}
	for protocol, want := range map[string]int64{engine.PostgreSQL: 200 << 20, engine.MariaDB: 100 << 20} {
		needs, err := Needs(t.Context(), workload.Env{Speaks: []string{protocol}}, data, 100<<20, 10<<20)
		if err != nil || needs.Served != want || needs.Time != 10*time.Second {
			t.Errorf("%s: %+v, %v", protocol, needs, err)
		}
	}
}

func TestWorst(t *testing.T) {
	pass, unknown, fail := measure.Check{State: measure.Pass}, measure.Check{State: measure.Unknown, Detail: "u"}, measure.Check{State: measure.Fail, Detail: "f"}
	for _, c := range []struct {
		checks []measure.Check
		want   string
	}{
		{[]measure.Check{fail}, "f"}, {[]measure.Check{pass, pass}, ""}, {[]measure.Check{pass, unknown}, "server 2: u"},
		{[]measure.Check{unknown, fail, pass}, "server 2: f"}, {[]measure.Check{fail, unknown}, "server 1: f"},
	} {
		if got := Worst(c.checks).Detail; got != c.want {
			t.Errorf("%+v: %q, not %q", c.checks, got, c.want)
		}
	}
}
