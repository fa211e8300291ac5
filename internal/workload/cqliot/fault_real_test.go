package cqliot

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/workload/cqliot/driver"
)

// outcome is the result of a load with a fault.
type outcome struct {
	done, failed []int64 // of each half second
	shares       []int64 // of the last, by server
	check        map[string]measure.Check
	said         string
	err          error
}

// during runs a load of so many half seconds, and has something happen after the first.
func during(t *testing.T, at load.Endpoint, settings parameter.Settings, halves int, happen func()) (o outcome) {
	t.Helper()
	return through(t, at, settings, halves, happen, halves)
}

// through is the same, and ends the load so many half seconds after it has happened.
func through(t *testing.T, at load.Endpoint, settings parameter.Settings, halves int, happen func(), after int) (o outcome) {
	t.Helper()
	env := environment(at, func(_ string, args ...any) { o.said, _ = args[len(args)-1].(string) })
	l, err := Kind(driver.Open).New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if o.err = l.Prepare(t.Context(), env); o.err != nil {
		return o
	}
	half := max(250*time.Millisecond, loadtest.Short(500*time.Millisecond))
	var happened sync.WaitGroup
	var once sync.Once
	var over atomic.Bool
	out := measure.NewRecorder(func(*measure.Recorder) bool {
		once.Do(func() {
			happened.Go(func() {
				defer over.Store(true)
				happen()
			})
		})
		if over.Load() {
			after--
		}
		return after < 0
	})
	o.err = l.Run(t.Context(), env, load.Stage{Length: time.Duration(halves) * half, Interval: half, Seed: 1}, out)
	happened.Wait()
	o.check = map[string]measure.Check{}
	for _, in := range out.Intervals() {
		done, failed := int64(0), int64(0)
		for _, s := range in.Samples {
			done, failed = done+s.Operations, failed+s.Errors
		}
		o.done, o.failed, o.shares = append(o.done, done), append(o.failed, failed), in.Shares
	}
	for _, c := range out.Checks() {
		o.check[c.Name] = c
	}
	t.Logf("done %v, failed %v, %v; %s %v", o.done, o.failed, o.check, o.said, o.err)
	return o
}

func total(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// oneLine says whether an error is one line that holds some words.
func oneLine(err error, words string) bool {
	return err != nil && strings.Contains(err.Error(), words) && !strings.Contains(err.Error(), "\n")
}

// modest asks for less than any machine can do, with little patience.
func modest(more parameter.Settings) parameter.Settings {
	s := parameter.Settings{"rampup": "1000", "connections": "2", "rate": "60/s", "tick": "2ms", "timeout": "400ms", "write_consistency": "one", "read_consistency": "one"}
	maps.Copy(s, more)
	if s["rate"] == "" {
		delete(s, "rate") // as fast as it goes
	}
	return s
}

// paused: a server that stalls costs what was under way and due
// meanwhile, and no row.
func paused(t *testing.T, s *server) {
	o := during(t, s.at, modest(nil), 5, func() {
		s.signal(t, 0, syscall.SIGSTOP)
		<-time.After(800 * time.Millisecond)
		s.signal(t, 0, syscall.SIGCONT)
	})
	if o.err != nil || o.done[0] == 0 || o.done[len(o.done)-1] == 0 || total(o.failed) == 0 || o.check["data"].State != measure.Pass {
		t.Errorf("%+v", o)
	}
}

// killed: what a server that syncs each write had acknowledged is there when it was killed
// and started again, the last writes before it included.
func killed(t *testing.T, s *server) {
	l, err := Kind(driver.Open).New(modest(parameter.Settings{"rate": "", "read_ratio": "0", "timeout": "5s"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), s.env); err != nil {
		t.Fatal(err)
	}
	done, failed, c := crash(t, s, l.(*iot))
	written := c.sum().acknowledged
	wrong, why, err := c.verify(t.Context(), written)
	t.Logf("%d done, %d failed, %d of %d that were looked for are lost", done, failed, wrong, len(written))
	if done < 50 || failed == 0 || len(written) < 50 || wrong != 0 || err != nil {
		t.Errorf("%d done, %d failed, %d of %d acknowledged writes are lost%s, %v", done, failed, wrong, len(written), why, err)
	}
}

// schemaDropped: a table that goes in the middle of a load fails what asks for it, and is
// told in one line; so is one that is not there before the load.
func schemaDropped(t *testing.T, s *server) {
	o := during(t, s.at, modest(nil), 4, func() { ask(t, s.at, "DROP TABLE "+keyspace+".iot") })
	if total(o.failed) < 20 || o.done[0] == 0 || !strings.Contains(o.said+o.err.Error(), "iot") || !oneLine(o.err, "table") {
		t.Errorf("%+v", o)
	}
	ask(t, s.at, "DROP KEYSPACE "+keyspace)
	l, err := Kind(driver.Open).New(modest(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context(), s.env, load.Stage{Length: time.Second, Interval: time.Second}, measure.NewRecorder(nil)); !oneLine(err, "is missing or incomplete") {
		t.Errorf("without a keyspace: %v", err)
	}
}

// guarded has the server ask who one is, speak TLS as well, and take few connections.
func guarded(t *testing.T, s *server) (plain, secure load.Endpoint) {
	t.Helper()
	c, err := service.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(s.dir, "test.pem")
	if err := os.WriteFile(key, append(c.Key, c.Cert...), 0o644); err != nil {
		t.Fatal(err)
	}
	s.restart(t, 0, `authenticator: PasswordAuthenticator
native_transport_max_concurrent_connections: 12
client_encryption_options: {enabled: true, optional: true, ssl_context_factory: {class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}, keystore: "`+key+`"}
`, "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4")
	t.Setenv("PLIMSOLL_TEST_SECRET", "cassandra")
	plain = s.at
	plain.User, plain.Secret = "cassandra", "env:PLIMSOLL_TEST_SECRET"
	secure = plain
	secure.CA = c.CA
	await(t, plain)
	return plain, secure
}

// letIn: both versions of the protocol and both drivers do the same with a password, with
// TLS and without; what is wrong with who one is, is told in one line.
func letIn(t *testing.T, plain, secure load.Endpoint) {
	for _, c := range []struct {
		at       load.Endpoint
		settings parameter.Settings
	}{
		{plain, parameter.Settings{"protocol": "4"}}, {plain, parameter.Settings{"protocol": "5"}},
		{secure, parameter.Settings{"protocol": "4"}}, {secure, parameter.Settings{"protocol": "5"}}, {secure, parameter.Settings{"driver": "gocql"}},
	} {
		c.settings["timeout"] = "10s" // its first passwords take it long
		o := during(t, c.at, modest(c.settings), 2, func() {})
		if o.err != nil || total(o.done) < 30 || total(o.failed) > 0 || o.check["data"].State != measure.Pass || o.check["found"].State != measure.Pass {
			t.Errorf("%v: %+v", c.settings, o)
		}
	}
	t.Setenv("PLIMSOLL_TEST_WRONG", "hush")
	stranger, nobody, another := plain, plain, secure
	stranger.Secret, nobody.User, nobody.Secret = "env:PLIMSOLL_TEST_WRONG", "", ""
	other, err := service.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	another.CA = other.CA
	for words, at := range map[string]load.Endpoint{
		"(bad credentials)": stranger, "requires a user and a password": nobody, "not signed by the CA in ca": another,
	} {
		o := during(t, at, modest(nil), 1, func() {})
		if !oneLine(o.err, words) || strings.Contains(o.err.Error(), "hush") {
			t.Errorf("%s: %v", words, o.err)
		}
	}
}

// crowded: connections beyond those that the server has are refused and counted, and the
// others go on.
func crowded(t *testing.T, at load.Endpoint) {
	o := during(t, at, modest(parameter.Settings{"connections": "30", "in_flight": "1", "rate": "", "think": "20ms", "timeout": "5s"}), 3, func() {})
	// A server may reset a connection before it is there for us, and no load begins.
	early := o.err != nil && oneLine(o.err, "connection reset by peer")
	if !early && (total(o.done) == 0 || total(o.failed) == 0) {
		t.Errorf("%+v", o)
	}
	if o.err != nil && !early && !oneLine(o.err, "has no connection left") {
		t.Errorf("the error is %v", o.err)
	}
}

// stopped: a server that hangs keeps nobody waiting for longer than he
// wants to.
func stopped(t *testing.T, s *server, at load.Endpoint) {
	s.signal(t, 0, syscall.SIGSTOP)
	defer s.signal(t, 0, syscall.SIGCONT)
	l, err := Kind(driver.Open).New(modest(nil))
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("that is enough")
	env := environment(at, t.Logf)
	for what, do := range map[string]func(context.Context) error{
		"Prepare": func(ctx context.Context) error { return l.Prepare(ctx, env) }, "Clean": func(ctx context.Context) error { return l.Clean(ctx, env) },
		"Run": func(ctx context.Context) error {
			return l.Run(ctx, env, load.Stage{Length: time.Minute, Interval: time.Second}, measure.NewRecorder(nil))
		},
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, enough)
		if err := do(ctx); !errors.Is(err, enough) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
}

// full: a node whose disk is full ends, which ends the load with one line.
func full(t *testing.T, s *server, at load.Endpoint) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &disk); err != nil {
		t.Fatal(err)
	}
	if disk.Blocks*uint64(disk.Bsize) > room {
		t.Skip("a small file system takes root to mount")
	}
	o := during(t, at, modest(parameter.Settings{"rate": "", "read_ratio": "0", "timeout": "5s"}), 60, func() {
		var left syscall.Statfs_t
		if err := syscall.Statfs(s.dir, &left); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, "ballast"), make([]byte, left.Bavail*uint64(left.Bsize)), 0o600); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
	})
	if total(o.done) == 0 || total(o.failed) == 0 || !oneLine(o.err, at.Address) {
		t.Errorf("%+v", o)
	}
}
