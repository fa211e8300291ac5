package oltp

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/workloadtest"
)

func environment(s *enginetest.Server) workload.Env {
	return workload.Env{Seed: 7, Target: s.Target}
}

func TestRealContract(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		workloadtest.Run(t, Kind(), workloadtest.Options{
			Settings: []parameter.Settings{
				{"rows": "2000", "tables": "2", "connections": "4"},
				{"rows": "2000", "tables": "2", "test": "read_write", "connections": "4", "pipeline": "true"},
				{"rows": "2000", "tables": "2", "test": "write_only", "rate": "100/s", "tick": "1ms", "arrivals": "poisson"},
			},
			Env:    func(*testing.T) workload.Env { return environment(s) },
			Length: 400 * time.Millisecond,
		})
	})
}

// result is the result of a load.
type result struct {
	done, failed int64
	values       map[string]float64
	observed     map[string]string
	rows         measure.Check
}

// run runs a load for so long on a database that is prepared.
func run(t *testing.T, env workload.Env, length time.Duration, settings parameter.Settings) result {
	t.Helper()
	return recorded(t, env, load.Stage{Length: length, Interval: length, Seed: 1}, settings, measure.NewRecorder(nil))
}

// some runs a load until some transactions are done.
func some(t *testing.T, env workload.Env, settings parameter.Settings) result {
	t.Helper()
	done := int64(0)
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		all := r.Intervals()
		done += all[len(all)-1].Samples[0].Operations
		return len(all) > 1 && done >= 5
	})
	return recorded(t, env, load.Stage{Length: time.Minute, Interval: 100 * time.Millisecond, Seed: 1}, settings, out)
}

// recorded is what a stage of a load recorded.
func recorded(t *testing.T, env workload.Env, stage load.Stage, settings parameter.Settings, out *measure.Recorder) (r result) {
	t.Helper()
	if err := prepared(t, env, settings).Run(t.Context(), env, stage, out); err != nil {
		t.Fatal(err)
	}
	for _, in := range out.Intervals() {
		r.done += in.Samples[0].Operations
		r.failed += in.Samples[0].Errors
	}
	for _, c := range out.Checks() {
		if c.Name == "rows" {
			r.rows = c
		}
	}
	r.values, r.observed = out.Values(), out.Observed()
	return r
}

// Every test runs to its end, with and without a pipeline, and leaves all rows there; few
// rows make conflicts, which are tried again, and after which a pipeline must not write the
// rest by itself.
func TestRealTests(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		for _, test := range []string{"point_select", "read_only", "write_only", "read_write"} {
			for _, pipeline := range []string{"false", "true"} {
				r := some(t, environment(s), parameter.Settings{"test": test, "pipeline": pipeline, "rows": "200", "connections": "8"})
				t.Logf("%s, pipeline %s: %d done, retries %g", test, pipeline, r.done, r.values["retries"])
				if r.done < 5 || r.failed > 0 || r.rows.State != measure.Pass {
					t.Errorf("%s, pipeline %s: %+v", test, pipeline, r)
				}
			}
		}
		if err := s.Dial(t, database).Exec(t.Context(), "DELETE FROM sbtest1 WHERE id = 17"); err != nil {
			t.Fatal(err)
		}
		if r := run(t, environment(s), 200*time.Millisecond, parameter.Settings{"rows": "200", "connections": "1"}); r.rows.State != measure.Fail {
			t.Errorf("a row that is lost is not noticed: %+v", r)
		}
	})
}

// A load over TLS does the same, and says so.
func TestRealTLS(t *testing.T) {
	t.Parallel()
	c, err := service.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range engine.Protocols() {
		s := enginetest.Secure(t, protocol, enginetest.Certificates(c))
		for _, settings := range []parameter.Settings{
			{"test": "read_write", "rows": "2000", "connections": "3"},
			{"test": "read_write", "rows": "2000", "connections": "3", "pipeline": "true", "rate": "50/s"},
		} {
			r := some(t, environment(s), settings)
			if r.done == 0 || r.failed > 0 || r.rows.State != measure.Pass || r.observed["connections.tls"] != "TLS 1.3" {
				t.Errorf("%s, %v: %+v", protocol, settings, r)
			}
		}
		other, err := service.NewCertificate()
		if err != nil {
			t.Fatal(err)
		}
		s.At.CA = other.CA
		l, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Check(t.Context(), environment(s)); err == nil || !strings.Contains(err.Error(), "is not signed by the CA in ca") {
			t.Errorf("%s, of another authority: %v", protocol, err)
		}
	}
}

// What the server counts is what the load says that it did.
func TestRealMariaDBStatements(t *testing.T) {
	t.Parallel()
	one := enginetest.Start(t, enginetest.Setup{Protocol: engine.MariaDB})
	s := one.Dial(t, "")
	count := func(name string) int64 {
		rows, err := s.Query(t.Context(), "SELECT variable_value + 0 FROM information_schema.global_status WHERE variable_name = '"+name+"'")
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		n, err := strconv.ParseInt(rows[0][0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	settings := parameter.Settings{"test": "read_write", "pipeline": "true", "rows": "20000", "connections": "2"}
	run(t, environment(one), 100*time.Millisecond, settings)
	begun, before := count("Com_begin"), count("Com_stmt_execute")
	r := run(t, environment(one), 500*time.Millisecond, settings)
	begins, executes := count("Com_begin")-begun, count("Com_stmt_execute")-before
	if r.failed > 0 || begins < r.done || begins > r.done+2+int64(r.values["retries"]*float64(r.done)+.5) || executes < 18*r.done || executes > 18*(begins) {
		t.Errorf("of %d transactions, %d failed; the server counts %d begins and %d statements", r.done, r.failed, begins, executes)
	}
}

// Several servers are filled alike, each does its share, and a row that one of them lost is
// told with its number.
func TestRealSeveralServers(t *testing.T) {
	first := enginetest.Start(t, enginetest.Setup{Protocol: engine.PostgreSQL})
	second := enginetest.Start(t, enginetest.Setup{Protocol: engine.PostgreSQL})
	first.At.More = []string{second.At.Address}
	settings := parameter.Settings{"rows": "2000", "connections": "2", "test": "read_write", "rate": "30/s"}
	env := environment(first)
	l := prepared(t, env, settings)
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), env, load.Stage{Length: time.Second, Interval: 500 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	shares, all := make([]int64, 2), int64(0)
	for _, in := range out.Intervals() {
		for i, n := range in.Shares {
			shares[i] += n
		}
		all += in.Samples[0].Operations
	}
	if all < 50 || all > 60 || shares[0]+shares[1] != all || min(shares[0], shares[1]) < 10 {
		t.Errorf("%d of 2 x 30 transactions, shared as %v", all, shares)
	}
	if err := second.Dial(t, database).Exec(t.Context(), "DELETE FROM sbtest1 WHERE id = 17"); err != nil {
		t.Fatal(err)
	}
	r := run(t, env, 200*time.Millisecond, parameter.Settings{"rows": "2000", "connections": "2", "rate": "30/s"})
	if r.rows.State != measure.Fail || !strings.HasPrefix(r.rows.Detail, "server 2: ") {
		t.Errorf("%+v", r.rows)
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Dial(t.Context(), second.Server(t), database); !engine.Absent(err) {
		t.Errorf("the second server still has it: %v", err)
	}
}
