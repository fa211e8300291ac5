package oltp

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/engine"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/postgres"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// real starts a server of the distribution on a free port of the loopback device.
func real(t *testing.T) load.Endpoint { return serve(t, nil).at }

// server is a real server.
type server struct {
	at      load.Endpoint
	command func(name string, words ...string) *exec.Cmd
	words   []string
	process *exec.Cmd
}

// serve starts a server, in a folder that furnish made ready, with more words on its command line.
func serve(t *testing.T, furnish func(dir string), words ...string) *server {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with the real postgres")
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		t.Fatal("postgres is not installed: ./setup test")
	}
	dir, err := os.MkdirTemp("", "oltp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if furnish != nil {
		furnish(dir)
	}
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		attributes.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	command := func(name string, words ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(filepath.Dir(found[len(found)-1]), name), append([]string{"-D", dir + "/data"}, words...)...)
		c.Dir, c.SysProcAttr = dir, attributes
		return c
	}
	if said, err := command("initdb", "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := load.Endpoint{Network: "tcp", Address: l.Addr().String(), User: "postgres", Database: "postgres"}
	l.Close()
	_, port, _ := net.SplitHostPort(at.Address)
	one := &server{at: at, command: command, words: append([]string{"-p", port, "-h", "127.0.0.1", "-k", ""}, words...)}
	one.start(t)
	t.Cleanup(func() { one.signal(t, syscall.SIGINT); one.process.Wait() })
	return one
}

func (s *server) start(t *testing.T) {
	t.Helper()
	s.process = s.command("postgres", s.words...)
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(20 * time.Second); ; {
		c, err := postgres.Dial(t.Context(), where(s.at), "")
		if err == nil {
			c.Close()
			return
		} else if time.Now().After(over) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// signal reaches the server and all its sessions, but for an end, of which it tells them.
func (s *server) signal(t *testing.T, what syscall.Signal) {
	all := []int{s.process.Process.Pid}
	if what == syscall.SIGSTOP || what == syscall.SIGCONT {
		said, err := exec.Command("pgrep", "-P", strconv.Itoa(all[0])).Output()
		if err != nil {
			t.Error(err)
		}
		for word := range strings.FieldsSeq(string(said)) {
			pid, _ := strconv.Atoi(word)
			all = append(all, pid)
		}
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, what) // a session may have ended meanwhile
	}
}

func where(at load.Endpoint) postgres.Place {
	p, _ := targets(environment(at))
	return p[0].Place
}

// environment has a server of MariaDB where the user is root, whom PostgreSQL does not have.
func environment(at load.Endpoint) workload.Env {
	return workload.Env{Seed: 7, Target: func(protocol string) (load.Endpoint, error) {
		if (protocol == engine.MariaDB) != (at.User == "root") {
			return at, os.ErrNotExist
		}
		return at, nil
	}}
}

func TestRealContract(t *testing.T) {
	at := real(t)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"rows": "2000", "tables": "2", "connections": "4"},
			{"rows": "2000", "tables": "2", "test": "read_write", "connections": "4", "pipeline": "true"},
			{"rows": "2000", "tables": "2", "test": "write_only", "rate": "100/s", "tick": "1ms", "arrivals": "poisson"},
		},
		Env:    func(*testing.T) workload.Env { return environment(at) },
		Length: 600 * time.Millisecond,
	})
}

// Every test runs to its end, with and without a pipeline, leaves all rows there, and
// does on the server what it says; few rows make conflicts, which are tried again.
func TestRealTests(t *testing.T) {
	at := real(t)
	for _, test := range []string{"point_select", "read_only", "write_only", "read_write"} {
		for _, pipeline := range []string{"false", "true"} {
			l, err := Kind().New(parameter.Settings{"test": test, "pipeline": pipeline, "rows": "200", "connections": "4"})
			if err != nil {
				t.Fatal(err)
			}
			env := environment(at)
			if err := l.Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			out := measure.NewRecorder(nil)
			if err := l.Run(t.Context(), env, load.Stage{Length: 300 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 1}, out); err != nil {
				t.Fatal(err)
			}
			var done, errors int64
			for _, in := range out.Intervals() {
				done += in.Samples[0].Operations
				errors += in.Samples[0].Errors
			}
			t.Logf("%s, pipeline %s: %d done, %v", test, pipeline, done, out.Values())
			if done < 5 || errors > 0 {
				t.Errorf("%s, pipeline %s: %d done, %d errors", test, pipeline, done, errors)
			}
			for _, c := range out.Checks() {
				if c.Name == "rows" && c.State != measure.Pass {
					t.Errorf("%s: %+v", test, c)
				}
			}
		}
	}
	s, err := postgres.Dial(t.Context(), where(at), database)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Exec(t.Context(), "DELETE FROM sbtest1 WHERE id = 17"); err != nil {
		t.Fatal(err)
	}
	l, _ := Kind().New(parameter.Settings{"rows": "200", "connections": "1"})
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), environment(at), load.Stage{Length: 200 * time.Millisecond, Interval: 100 * time.Millisecond, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Checks() {
		if c.Name == "rows" && c.State != measure.Fail {
			t.Errorf("a row that is lost is not noticed: %+v", c)
		}
	}
}
