package oltp

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/engine"
)

// outcome is the result of a load with a fault.
type outcome struct {
	done, failed int64
	again        int64 // done after what happened
	check        map[string]measure.Check
	said         string
	took         time.Duration
	err          error
}

// happening is something that happens while a load goes on, which ends when enough
// came of it.
type happening struct {
	do     func()
	enough func(intervals, done int64) bool // after it was done
}

// someTime has a load go on for some intervals.
func someTime(intervals, _ int64) bool { return intervals > 3 }

// recovered has a load go on until operations are done again.
func recovered(_, done int64) bool { return done > 20 }

// during runs a load, and has something happen after its first interval.
func during(t *testing.T, s *enginetest.Server, settings parameter.Settings, h happening) (o outcome) {
	t.Helper()
	env := environment(s)
	env.Log = func(_ string, args ...any) { o.said = args[len(args)-1].(string) }
	l := prepared(t, env, settings)
	var once sync.Once
	happened := make(chan struct{})
	from := -1 // the first interval after it
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		once.Do(func() {
			go func() { defer close(happened); h.do() }()
		})
		select {
		case <-happened:
		default:
			return false
		}
		in := r.Intervals()
		if from < 0 {
			from = len(in)
		}
		o.again = 0
		for _, one := range in[from:] {
			o.again += one.Samples[0].Operations
		}
		return h.enough(int64(len(in)-from), o.again)
	})
	begun := time.Now()
	o.err = l.Run(t.Context(), env, load.Stage{Length: 30 * time.Second, Interval: 100 * time.Millisecond, Seed: 1}, out)
	o.took = time.Since(begun)
	<-happened
	o.check = map[string]measure.Check{}
	for _, in := range out.Intervals() {
		o.done, o.failed = o.done+in.Samples[0].Operations, o.failed+in.Samples[0].Errors
	}
	for _, c := range out.Checks() {
		o.check[c.Name] = c
	}
	t.Logf("%s: %d done, %d of them after it, %d failed, %v; %s %v", o.took, o.done, o.again, o.failed, o.check, o.said, o.err)
	return o
}

func prepared(t *testing.T, env workload.Env, settings parameter.Settings) workload.Load {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	return l
}

// oneLine looks for an error of one line that holds something.
func oneLine(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: %v, and not: %s", what, err, want)
	}
}

var modest = parameter.Settings{"rows": "2000", "connections": "4", "test": "read_write", "rate": "60/s", "tick": "2ms", "timeout": "400ms"}

// Whatever happens to a server is counted and told; a load goes on when the server is back,
// no row is lost, and one that stays away ends the load with one line.
func TestRealFaults(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		t.Run("comes back", func(t *testing.T) { comesBack(t, s) })
		t.Run("credentials", func(t *testing.T) { credentials(t, s) })
		t.Run("schema", func(t *testing.T) { schema(t, s) })
		s.At.Private = true // one that somebody else may start again is waited for
		o := during(t, s, modest, happening{func() { s.End(t, syscall.SIGKILL) }, someTime})
		oneLine(t, "killed for good", o.err, "nothing listens there")
		s.At.Private = false
		s.Begin(t) // it removes the memory that it shared before
	})
}

// comesBack has a server hang for a while, be restarted, and be killed and started
// again: that costs what was under way and due meanwhile.
func comesBack(t *testing.T, s *enginetest.Server) {
	for name, happen := range map[string]func(){
		"paused": func() {
			s.Signal(syscall.SIGSTOP)
			<-time.After(700 * time.Millisecond)
			s.Signal(syscall.SIGCONT)
		},
		"restarted": func() {
			s.End(t, syscall.SIGINT)
			s.Begin(t)
		},
		"killed": func() {
			s.End(t, syscall.SIGKILL)
			s.Begin(t)
		},
	} {
		o := during(t, s, modest, happening{happen, recovered})
		switch {
		case o.err != nil:
			t.Errorf("%s: %v", name, o.err)
		case o.again <= 20 || o.failed == 0:
			t.Errorf("%s: %d done after it, %d failed", name, o.again, o.failed)
		case o.check["rows"].State != measure.Pass || o.check["accounting"].State != measure.Pass:
			t.Errorf("%s: %v", name, o.check)
		case o.check["connections"].Detail == "":
			t.Errorf("%s: nothing says why: %v", name, o.check)
		}
	}
}

// schema has a load find no database, and a table and the database go missing under it.
func schema(t *testing.T, s *enginetest.Server) {
	env := environment(s)
	l := prepared(t, env, modest)
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	err := l.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: time.Second}, measure.NewRecorder(nil))
	oneLine(t, "without a database", err, "does not hold what was prepared")
	table, gone, force := `relation "sbtest1" does not exist`, `database "plimsoll_oltp" does not exist`, " WITH (FORCE)"
	if s.Protocol == engine.MariaDB {
		table, gone, force = "Table 'plimsoll_oltp.sbtest1' doesn't exist", "Unknown database 'plimsoll_oltp'", ""
	}
	drop := func(sql, in string) happening {
		return happening{func() {
			c, err := engine.Dial(t.Context(), s.Server(t), in)
			if err == nil {
				err = c.Exec(t.Context(), sql)
				c.Close()
			}
			if err != nil {
				t.Error(err)
			}
		}, someTime}
	}
	o := during(t, s, modest, drop("DROP TABLE sbtest1", database))
	oneLine(t, "a table", o.err, table)
	if o.failed == 0 || !strings.Contains(o.said, table) {
		t.Errorf("a table: %+v", o)
	}
	if r := run(t, env, 200*time.Millisecond, modest); r.done == 0 || r.failed > 0 || r.rows.State != measure.Pass {
		t.Errorf("after a table was made again: %+v", r)
	}
	o = during(t, s, modest, drop("DROP DATABASE plimsoll_oltp"+force, ""))
	oneLine(t, "the database", o.err, gone)
	if o.failed == 0 {
		t.Errorf("the database: %+v", o)
	}
}

// The passwords that the tests name. Parallel tests may not set variables of the environment.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"PLIMSOLL_TEST_SECRET": "hash"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// credentials has one come who is not let in, and one who may not make databases: both are
// told in one line that does not hold a password.
func credentials(t *testing.T, s *enginetest.Server) {
	who := s.At
	defer func() { s.At = who }()
	refused, sql := "Access denied for user 'clerk'", "CREATE USER clerk IDENTIFIED BY 'hush'; CREATE USER reader"
	if s.Protocol == engine.PostgreSQL {
		refused, sql = `password authentication failed for user "clerk"`, "CREATE ROLE clerk LOGIN PASSWORD 'hush'; CREATE ROLE reader LOGIN; SELECT pg_reload_conf()"
		if err := os.WriteFile(filepath.Join(s.Dir, "data", "pg_hba.conf"), []byte("host all clerk all scram-sha-256\nhost all all all trust\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Dial(t, "").Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	l, err := Kind().New(modest)
	if err != nil {
		t.Fatal(err)
	}
	s.At.User = "reader"
	_, err = l.Check(t.Context(), environment(s))
	oneLine(t, "who may only read", err, "the database user may not create databases")
	s.At.User, s.At.Secret = "clerk", "env:PLIMSOLL_TEST_SECRET"
	for over := time.Now().Add(10 * time.Second); time.Now().Before(over); <-time.After(20 * time.Millisecond) {
		if _, err = l.Check(t.Context(), environment(s)); err == nil || strings.Contains(err.Error(), refused) {
			break // PostgreSQL reads its rules again in its own time
		}
	}
	oneLine(t, "a wrong password", err, refused)
	if strings.Contains(err.Error(), "hash") {
		t.Errorf("it tells the password: %v", err)
	}
}

// A server that hangs forever ends the load with one line, soon after its time, and
// at once where the load is called off.
func TestRealServerHangs(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to wait for a server that does not answer")
	}
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		o := during(t, s, modest, happening{func() { s.Signal(syscall.SIGSTOP) }, someTime})
		s.Signal(syscall.SIGCONT)
		oneLine(t, "for good", o.err, "does not answer within 10s")
		if o.failed == 0 || o.took > 28*time.Second {
			t.Errorf("for good: %+v", o)
		}
		env := environment(s)
		l := prepared(t, env, modest)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		timer := time.AfterFunc(200*time.Millisecond, func() { s.Signal(syscall.SIGSTOP) })
		defer timer.Stop()
		begun := time.Now()
		err := l.Run(ctx, env, load.Stage{Length: time.Minute, Interval: time.Second, Seed: 1}, measure.NewRecorder(nil))
		s.Signal(syscall.SIGCONT)
		if took := time.Since(begun); err == nil || took > 8*time.Second {
			t.Errorf("called off, it ended after %s with %v", took, err)
		}
	})
}

// More sessions than the server has are counted, and the reason is told; in the deep tier so
// is a disk that is full: it ends the filling with one line, and fails what a load would
// write.
func TestRealLittleRoom(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a small file system takes root to mount")
	}
	for _, c := range []struct {
		protocol               string
		words                  []string
		few, noSpace, unfilled string
	}{
		{engine.PostgreSQL, []string{"-c", "max_connections=8", "-c", "default_tablespace=small", "-c", "min_wal_size=32MB"}, "too many clients already", "No space left on device", "No space left on device"},
		{engine.MariaDB, []string{"--max-connections=10", "--innodb-flush-method=fsync", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"}, "Too many connections", "is full", "fill the database plimsoll_oltp at"},
	} {
		s := enginetest.Start(t, enginetest.Setup{Protocol: c.protocol, Words: c.words, Prepare: func(dir string) { prepare(t, c.protocol, dir) }})
		if c.protocol == engine.PostgreSQL { // without room for its log it crashes
			if err := s.Dial(t, "").Exec(t.Context(), "CREATE TABLESPACE small LOCATION '"+s.Dir+"/small'"); err != nil {
				t.Fatal(err)
			}
		}
		o := during(t, s, parameter.Settings{"rows": "2000", "connections": "14", "timeout": "500ms"}, happening{func() {}, someTime})
		if o.err != nil || o.done == 0 || o.failed == 0 || !strings.Contains(o.check["connections"].Detail, c.few) {
			t.Errorf("%s: %+v", c.protocol, o)
		}
		if os.Getenv("PLIMSOLL_DEEP") == "" {
			continue // whole studies fill disks as well
		}
		env := environment(s)
		large, err := Kind().New(parameter.Settings{"rows": "800000"})
		if err != nil {
			t.Fatal(err)
		}
		oneLine(t, c.protocol, large.Prepare(t.Context(), env), c.unfilled)
		if err := large.Clean(t.Context(), env); err != nil {
			t.Errorf("%s: cleaning a full disk: %v", c.protocol, err)
		}
		writes := parameter.Settings{"rows": "2000", "connections": "4", "test": "write_only", "timeout": "2s"}
		o = during(t, s, writes, happening{func() { fill(t, s) }, someTime})
		if o.done == 0 || o.failed == 0 || o.err == nil && !strings.Contains(o.said, c.noSpace) {
			t.Errorf("%s: %+v", c.protocol, o)
		}
		if o.err != nil { // MariaDB may end where it cannot write at all
			oneLine(t, c.protocol, o.err, "nothing listens there")
		}
	}
}

// prepare makes a small file system where a server keeps its tables.
func prepare(t *testing.T, protocol, dir string) {
	t.Helper()
	size := "100m"
	if protocol == engine.PostgreSQL {
		dir, size = filepath.Join(dir, "small"), "30m"
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=700,uid=65534,gid=65534"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}

// fill leaves no room in that file system.
func fill(t *testing.T, s *enginetest.Server) {
	dir := s.Dir
	if s.Protocol == engine.PostgreSQL {
		dir = filepath.Join(dir, "small")
	}
	f, err := os.Create(filepath.Join(dir, "ballast"))
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}
