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
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// tables makes the server's own.
const tables = `mkdir data && cd /usr/share/mysql && { printf '%s\n' 'CREATE DATABASE mysql;' 'USE mysql;' 'SET @auth_root_socket = NULL;' &&
	cat mysql_system_tables.sql mysql_performance_tables.sql mysql_system_tables_data.sql; } | "$0" "$@" --bootstrap --enforce-storage-engine= 2>&1`

// mariaServer is a real server.
type mariaServer struct {
	at      load.Endpoint
	command func() *exec.Cmd
	process *exec.Cmd
}

// mariadb starts a real server, with more words on its command line.
func mariadb(t *testing.T, more ...string) *mariaServer {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with the real mariadbd")
	}
	dir, err := os.MkdirTemp("", "oltp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	attributes := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		attributes.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := load.Endpoint{Network: "tcp", Address: l.Addr().String(), User: "root"}
	l.Close()
	_, port, _ := net.SplitHostPort(at.Address)
	words := []string{
		"/usr/sbin/mariadbd", "--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + dir, "--socket=", "--bind-address=127.0.0.1", "--port=" + port,
		"--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=2", "--debug-gdb",
	}
	command := func(argv ...string) *exec.Cmd {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.SysProcAttr = dir, attributes
		return c
	}
	if said, err := command(append([]string{"sh", "-c", tables}, words...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	m := &mariaServer{at: at, command: func() *exec.Cmd { return command(append(words, more...)...) }}
	m.start(t)
	t.Cleanup(func() {
		m.process.Process.Signal(syscall.SIGINT)
		m.process.Wait()
	})
	return m
}

// start starts the server, again perhaps, and waits until it answers.
func (m *mariaServer) start(t *testing.T) {
	m.process = m.command()
	if err := m.process.Start(); err != nil {
		t.Error(err)
		return
	}
	for over := time.Now().Add(20 * time.Second); ; {
		s, err := engine.Dial(t.Context(), maria(t, m.at), "")
		if err == nil {
			s.Close()
			return
		} else if time.Now().After(over) {
			t.Error(err)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

func maria(t *testing.T, at load.Endpoint) engine.Server {
	t.Helper()
	servers, err := targets(environment(at))
	if err != nil || len(servers) != 1 || servers[0].Protocol != engine.MariaDB {
		t.Error(servers, err)
		return engine.Server{}
	}
	return servers[0]
}

func TestRealMariaDBContract(t *testing.T) {
	at := mariadb(t).at
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

// mariadbRun runs a load on a database that is prepared, and says what came of it.
func mariadbRun(t *testing.T, at load.Endpoint, length time.Duration, settings parameter.Settings) (done, failed int64, values map[string]float64, rows measure.Check) {
	t.Helper()
	l, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	env, out := environment(at), measure.NewRecorder(nil)
	env.Log = t.Logf
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if err := l.Run(t.Context(), env, load.Stage{Length: length, Interval: length, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	for _, in := range out.Intervals() {
		done += in.Samples[0].Operations
		failed += in.Samples[0].Errors
	}
	for _, c := range out.Checks() {
		if c.Name == "rows" {
			rows = c
		}
	}
	return done, failed, out.Values(), rows
}

// Every test runs to its end, with and without a pipeline, and leaves all rows there; few
// rows make deadlocks, after which a pipeline must not write the rest by itself.
func TestRealMariaDBTests(t *testing.T) {
	at := mariadb(t).at
	for _, test := range []string{"point_select", "read_only", "write_only", "read_write"} {
		for _, pipeline := range []string{"false", "true"} {
			done, failed, values, rows := mariadbRun(t, at, 400*time.Millisecond, parameter.Settings{"test": test, "pipeline": pipeline, "rows": "200", "connections": "8"})
			t.Logf("%s, pipeline %s: %d done, retries %g", test, pipeline, done, values["retries"])
			if done < 5 || failed > 0 || rows.State != measure.Pass {
				t.Errorf("%s, pipeline %s: %d done, %d failed, %+v", test, pipeline, done, failed, rows)
			}
		}
	}
	s, err := engine.Dial(t.Context(), maria(t, at), database)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Exec(t.Context(), "DELETE FROM sbtest1 WHERE id = 17"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, rows := mariadbRun(t, at, 200*time.Millisecond, parameter.Settings{"rows": "200", "connections": "1"}); rows.State != measure.Fail {
		t.Errorf("a row that is lost is not noticed: %+v", rows)
	}
}

// What the server counts is what the load says that it did.
func TestRealMariaDBStatements(t *testing.T) {
	at := mariadb(t).at
	s, err := engine.Dial(t.Context(), maria(t, at), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
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
	mariadbRun(t, at, 100*time.Millisecond, settings)
	begun, before := count("Com_begin"), count("Com_stmt_execute")
	done, failed, values, _ := mariadbRun(t, at, 500*time.Millisecond, settings)
	begins, executes := count("Com_begin")-begun, count("Com_stmt_execute")-before
	if failed > 0 || begins < done || begins > done+2+int64(values["retries"]*float64(done)+.5) || executes < 18*done || executes > 18*(begins) {
		t.Errorf("of %d transactions, %d failed; the server counts %d begins and %d statements", done, failed, begins, executes)
	}
}

// A server that dies for good ends the load with one line.
func TestRealMariaDBDies(t *testing.T) {
	m := mariadb(t)
	settings := parameter.Settings{"rows": "2000", "connections": "4", "timeout": "500ms"}
	mariadbRun(t, m.at, 100*time.Millisecond, settings)
	if o := during(t, m.at, settings, 2, func() { m.process.Process.Kill() }); o.err == nil || !strings.Contains(o.err.Error(), "nothing listens there") || strings.Contains(o.err.Error(), "\n") {
		t.Errorf("got %v", o.err)
	}
}

// A server that stands still for a while, or is killed and started again, costs what was
// under way and due meanwhile; the load goes on afterwards, and no row is lost.
func TestRealMariaDBPauseAndCrash(t *testing.T) {
	m := mariadb(t, "--innodb-flush-log-at-trx-commit=1")
	for name, happen := range map[string]func(){
		"paused": func() {
			m.process.Process.Signal(syscall.SIGSTOP)
			<-time.After(700 * time.Millisecond)
			m.process.Process.Signal(syscall.SIGCONT)
		},
		"killed": func() {
			m.process.Process.Kill()
			m.process.Wait()
			m.start(t)
		},
	} {
		over := make(chan struct{})
		o := during(t, m.at, modest, 9, func() { defer close(over); happen() })
		<-over
		if o.err != nil || o.done[0] == 0 || o.done[len(o.done)-1] == 0 || sum(o.failed) == 0 || o.check["rows"].State != measure.Pass || o.check["accounting"].State != measure.Pass {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// More sessions than the server has, and a wrong password, are explained in one line.
func TestRealMariaDBRefusals(t *testing.T) {
	m := mariadb(t, "--max-connections=10")
	o := during(t, m.at, parameter.Settings{"rows": "2000", "connections": "14", "timeout": "500ms"}, 2, func() {})
	if o.err != nil || sum(o.done) == 0 || sum(o.failed) == 0 || !strings.Contains(o.check["connections"].Detail, "Too many connections") {
		t.Errorf("%+v", o)
	}
	s, err := engine.Dial(t.Context(), maria(t, m.at), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Exec(t.Context(), "CREATE USER clerk IDENTIFIED BY 'hush'; CREATE USER reader"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PLIMSOLL_TEST_SECRET", "hash")
	l, err := Kind().New(modest)
	if err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"clerk": "Access denied for user 'clerk'", "reader": "may not make databases: GRANT ALL"} {
		env := environment(m.at)
		env.Target = func(protocol string) (load.Endpoint, error) {
			at := m.at
			if at.User = user; user == "clerk" {
				at.Secret = "env:PLIMSOLL_TEST_SECRET"
			}
			if protocol != engine.MariaDB {
				return at, os.ErrNotExist
			}
			return at, nil
		}
		if _, err := l.Check(t.Context(), env); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "hash") {
			t.Errorf("%s: %v", user, err)
		}
	}
}
