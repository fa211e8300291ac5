package oltp

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
)

// outcome is what came of a load during which something happened.
type outcome struct {
	done, failed []int64 // of each half second
	check        map[string]measure.Check
	said         string
	err          error
}

// during runs a load of so many half seconds, and has something happen after the first.
func during(t *testing.T, at load.Endpoint, settings parameter.Settings, halves int, happen func()) (o outcome) {
	t.Helper()
	env := environment(at)
	env.Log = func(_ string, args ...any) { o.said = args[len(args)-1].(string) }
	l := prepared(t, env, settings)
	const half = 500 * time.Millisecond
	timer := time.AfterFunc(half, happen)
	defer timer.Stop()
	out := measure.NewRecorder(nil)
	o.err = l.Run(t.Context(), env, load.Stage{Length: time.Duration(halves) * half, Interval: half, Seed: 1}, out)
	o.check = map[string]measure.Check{}
	for _, in := range out.Intervals() {
		o.done, o.failed = append(o.done, in.Samples[0].Operations), append(o.failed, in.Samples[0].Errors)
	}
	for _, c := range out.Checks() {
		o.check[c.Name] = c
	}
	t.Logf("done %v, failed %v, %v; %s %v", o.done, o.failed, o.check, o.said, o.err)
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

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

var modest = parameter.Settings{"rows": "2000", "connections": "4", "test": "read_write", "rate": "60/s", "tick": "2ms", "timeout": "400ms"}

// A server that stands still for a while, or is restarted, costs what was under way
// and due meanwhile; the load goes on afterwards, and no row is lost.
func TestRealPauseAndRestart(t *testing.T) {
	s := serve(t, nil)
	for name, happen := range map[string]func(){
		"paused": func() {
			s.signal(t, syscall.SIGSTOP)
			<-time.After(700 * time.Millisecond)
			s.signal(t, syscall.SIGCONT)
		},
		"restarted": func() {
			s.signal(t, syscall.SIGINT)
			s.process.Wait()
			s.start(t)
		},
		"killed": func() {
			s.signal(t, syscall.SIGKILL)
			s.process.Wait()
			<-time.After(300 * time.Millisecond) // its children see that it is gone
			s.start(t)
		},
	} {
		over := make(chan struct{})
		o := during(t, s.at, modest, 7, func() { defer close(over); happen() })
		<-over
		switch {
		case o.err != nil:
			t.Errorf("%s: %v", name, o.err)
		case o.done[0] == 0 || o.done[len(o.done)-1] == 0 || sum(o.failed) == 0:
			t.Errorf("%s: done %v, failed %v", name, o.done, o.failed)
		case o.check["rows"].State != measure.Pass || o.check["accounting"].State != measure.Pass:
			t.Errorf("%s: %v", name, o.check)
		case o.check["connections"].Detail == "":
			t.Errorf("%s: nothing says why: %v", name, o.check)
		}
	}
}

// A schema that is missing is told before a load begins, and one that goes missing
// fails what asks for it.
func TestRealSchemaMissing(t *testing.T) {
	at := real(t)
	env := environment(at)
	l := prepared(t, env, modest)
	db, err := postgres.Dial(t.Context(), where(at), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	err = l.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: time.Second}, measure.NewRecorder(nil))
	if err == nil || !strings.Contains(err.Error(), "does not hold what was prepared") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without a database: %v", err)
	}
	o := during(t, at, modest, 4, func() {
		inside, err := postgres.Dial(t.Context(), where(at), database)
		if err != nil {
			t.Error(err)
			return
		}
		defer inside.Close()
		if err := inside.Exec(t.Context(), "DROP TABLE sbtest1"); err != nil {
			t.Error(err)
		}
	})
	if sum(o.failed) < 20 || !strings.Contains(o.said, `relation "sbtest1" does not exist`) || o.err == nil || strings.Contains(o.err.Error(), "\n") {
		t.Errorf("%+v", o)
	}
}

// More sessions than the server has, and a wrong password, are explained in one line.
func TestRealRefusals(t *testing.T) {
	s := serve(t, nil, "-c", "max_connections=8")
	crowd := parameter.Settings{"rows": "2000", "connections": "12", "timeout": "500ms"}
	o := during(t, s.at, crowd, 2, func() {})
	if o.err != nil || sum(o.done) == 0 || sum(o.failed) == 0 || !strings.Contains(o.check["connections"].Detail, "too many clients already") {
		t.Errorf("%+v", o)
	}
	db, err := postgres.Dial(t.Context(), where(s.at), "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The file of the rules lies where the server says.
	rows, err := db.Query(t.Context(), "CREATE ROLE hidden LOGIN SUPERUSER PASSWORD 'hush'; SHOW hba_file")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rows[0][0], []byte("host all hidden all scram-sha-256\nhost all all all trust\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := db.Exec(t.Context(), "SELECT pg_reload_conf()"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLIMSOLL_TEST_SECRET", "hash")
	at := s.at
	at.User, at.Secret = "hidden", "env:PLIMSOLL_TEST_SECRET"
	l, err := Kind().New(modest)
	if err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(5 * time.Second); time.Now().Before(over); <-time.After(20 * time.Millisecond) {
		if _, err = l.Check(t.Context(), environment(at)); err != nil {
			break // the server reads the file again in its own time
		}
	}
	if err == nil || !strings.Contains(err.Error(), "password authentication failed") || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hash") {
		t.Errorf("a wrong password: %v", err)
	}
}

// A disk that is full ends the filling with one line, and a load with what it lost
// counted.
func TestRealDiskFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a small file system takes root to mount")
	}
	s := serve(t, func(dir string) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=100m,mode=755"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}, "-c", "max_wal_size=32MB", "-c", "min_wal_size=32MB", "-c", "shared_buffers=16MB")
	env := environment(s.at)
	large, err := Kind().New(parameter.Settings{"rows": "1000000"})
	if err != nil {
		t.Fatal(err)
	}
	if err = large.Prepare(t.Context(), env); err == nil || !strings.Contains(err.Error(), "No space left on device") || strings.Contains(err.Error(), "\n") {
		t.Errorf("filling a disk: %v", err)
	}
	if err := large.Clean(t.Context(), env); err != nil {
		t.Errorf("cleaning a full disk: %v", err)
	}
}

// Several servers are filled alike, each does its share, and a row that one of them lost is
// told with its number.
func TestRealSeveralServers(t *testing.T) {
	at := real(t)
	at.More = []string{real(t).Address}
	settings := parameter.Settings{"rows": "2000", "connections": "2", "test": "read_write", "rate": "30/s"}
	env := environment(at)
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
	if all != 60 || shares[0]+shares[1] != all || min(shares[0], shares[1]) < 10 {
		t.Errorf("%d of 2 x 30 transactions, shared as %v", all, shares)
	}
	other := at
	other.Address, other.More = at.More[0], nil
	db, err := postgres.Dial(t.Context(), where(other), database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Exec(t.Context(), "DELETE FROM sbtest1 WHERE id = 17"); err != nil {
		t.Fatal(err)
	}
	out = measure.NewRecorder(nil)
	point, err := Kind().New(parameter.Settings{"rows": "2000", "connections": "2", "rate": "30/s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := point.Run(t.Context(), env, load.Stage{Length: 200 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Checks() {
		if c.Name == "rows" && (c.State != measure.Fail || !strings.HasPrefix(c.Detail, "server 2: ")) {
			t.Errorf("%+v", c)
		}
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Dial(t.Context(), where(other), database); !postgres.Absent(err) {
		t.Errorf("the second server still has it: %v", err)
	}
}
