// Package enginetest starts real servers of the database engines for tests.
package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/ports"
	"plimsoll/internal/workload/engine"
)

// Setup is what a test wants of a server.
type Setup struct {
	Protocol string           // of package engine
	Words    []string         // more of them on its command line
	Prepare  func(dir string) // makes its folder ready; nil for an empty one
}

// Server is a real server of the distribution on a free port of the loopback device,
// without a password. It ends with the test, which shows its log where it fails.
type Server struct {
	Setup
	At  load.Endpoint
	Dir string // holds the folder data and the file log

	words   []string
	process *exec.Cmd
}

// Each runs a test with a server of each engine, beside each other and beside other tests.
func Each(t *testing.T, test func(t *testing.T, s *Server)) {
	t.Helper()
	t.Parallel()
	for protocol, name := range map[string]string{engine.PostgreSQL: "postgresql", engine.MariaDB: "mariadb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, Start(t, Setup{Protocol: protocol}))
		})
	}
}

// Start starts a server, or skips the test where real ones are not asked for.
func Start(t *testing.T, setup Setup) *Server {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with the real database servers")
	}
	dir, err := os.MkdirTemp("", "engine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(dir) })
	if setup.Prepare != nil {
		setup.Prepare(dir)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	s := &Server{Setup: setup, Dir: dir, At: load.Endpoint{Network: "tcp", Address: address(t)}}
	if setup.Protocol == engine.MariaDB {
		err = s.mariadb()
	} else {
		err = s.postgresql()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Begin(t)
	t.Cleanup(func() {
		if s.End(t, syscall.SIGINT); t.Failed() {
			t.Logf("the log of the server ends:\n%s", s.Log())
		}
	})
	return s
}

// longestLog is how much is shown of the end of a log: several starts of a server.
const longestLog = 16 << 10

// Log is the end of what the server logged since its first start.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-longestLog):])
}

func (s *Server) log() string { return filepath.Join(s.Dir, "log") }

// address is one whose port no connection is given by the kernel: it is still free when a server
// that was killed comes back.
func address(t *testing.T) string {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // nothing ran there
	free, err := ports.Free(t.Context(), p.Machine(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(free[0]))
}

// remove removes the folder of a server that has ended, and what PostgreSQL leaves beside it
// when it is killed: a segment of shared memory, whose number is in the seventh line of a
// file that goes when it ends in good order.
func remove(dir string) {
	note, _ := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if lines := strings.Split(string(note), "\n"); len(lines) > 6 {
		if named := strings.Fields(lines[6]); len(named) == 2 {
			_ = exec.Command("ipcrm", "-m", named[1]).Run() // it may be gone
		}
	}
	_ = os.RemoveAll(dir)
}

// nobody is who servers run as, because PostgreSQL refuses to run as root.
const nobody = 65534

func (s *Server) command(argv ...string) *exec.Cmd {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.SysProcAttr = s.Dir, &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return c
}

// Begin starts the server, again perhaps, and waits until it answers. It may be called
// beside the test.
func (s *Server) Begin(t *testing.T) {
	s.process = s.command(append(s.words, s.Words...)...)
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Error(err)
		return
	}
	defer log.Close() // the server has its own
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		t.Error(err)
		return
	}
	for over := time.Now().Add(30 * time.Second); ; {
		c, err := engine.Dial(t.Context(), s.Server(t), "")
		if err == nil {
			c.Close()
			return
		} else if time.Now().After(over) {
			t.Error(err)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// PID is the id of the server's first process.
func (s *Server) PID() int { return s.process.Process.Pid }

// over reports whether a process has ended, also where nobody has asked for its status, as in a
// container whose first process is no init.
func over(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	state := text[bytes.LastIndexByte(text, ')')+1:]
	return err != nil || bytes.HasPrefix(state, []byte(" Z"))
}

// End ends the server by a signal, and waits until none of its processes is left. A kill
// is one of all of them.
func (s *Server) End(t *testing.T, how syscall.Signal) {
	rest := s.children()
	if _ = s.process.Process.Signal(how); how == syscall.SIGKILL { // it may have ended
		for _, pid := range rest { // before they see it
			_ = syscall.Kill(pid, how)
		}
	}
	_ = s.process.Wait()
	for end := time.Now().Add(20 * time.Second); len(rest) > 0; {
		if over(rest[0]) {
			rest = rest[1:]
			continue
		} else if time.Now().After(end) {
			t.Errorf("process %d of the server has not ended", rest[0])
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}

// Signal reaches the server and all its processes.
func (s *Server) Signal(what syscall.Signal) {
	for _, pid := range append(s.children(), s.process.Process.Pid) {
		_ = syscall.Kill(pid, what) // it may have ended
	}
}

// children are the processes that the server started.
func (s *Server) children() (all []int) {
	pid := s.process.Process.Pid
	said, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // none where it ended
	for word := range strings.FieldsSeq(string(said)) {
		if n, err := strconv.Atoi(word); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// Target is where the server listens, for those who speak its protocol.
func (s *Server) Target(protocol string) (load.Endpoint, error) {
	if protocol != s.Protocol {
		return load.Endpoint{}, fmt.Errorf("the server speaks %s", s.Protocol)
	}
	return s.At, nil
}

// Server is where the server listens.
func (s *Server) Server(t *testing.T) engine.Server {
	t.Helper()
	places, err := engine.Servers(s.Target, func(ctx context.Context, at load.Endpoint) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, at.Network, at.Address)
	})
	if err != nil {
		t.Error(err)
		return engine.Server{}
	}
	return places[0]
}

// Dial begins a session in a database, which ends with the test.
func (s *Server) Dial(t *testing.T, database string) engine.Conn {
	t.Helper()
	c, err := engine.Dial(t.Context(), s.Server(t), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// postgresql makes the folder of a server of PostgreSQL.
func (s *Server) postgresql() error {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return errors.New("postgres is not installed: ./setup test")
	}
	program, data := found[len(found)-1], filepath.Join(s.Dir, "data")
	s.At.User, s.At.Database = "postgres", "postgres"
	_, port, _ := net.SplitHostPort(s.At.Address)
	s.words = []string{
		program, "-D", data, "-p", port, "-h", "127.0.0.1", "-k", "",
		"-c", "dynamic_shared_memory_type=mmap", // in the folder, and gone with it
		"-c", "huge_pages=off", // those of the host are perhaps set aside for guests of another test
		"-c", "max_wal_size=256MB", "-c", "shared_buffers=64MB", "-c", "fsync=off", // a process that is killed loses nothing that it wrote
	}
	return s.make(s.command(filepath.Join(filepath.Dir(program), "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"))
}

// own makes the tables of a server of MariaDB that are its own.
const own = `mkdir data && cd /usr/share/mysql && { printf '%s\n' 'CREATE DATABASE mysql;' 'USE mysql;' 'SET @auth_root_socket = NULL;' &&
	cat mysql_system_tables.sql mysql_performance_tables.sql mysql_system_tables_data.sql; } | "$0" "$@" --bootstrap --enforce-storage-engine= 2>&1`

// mariadb makes the folder of a server of MariaDB. Its commits are written but not
// waited for, which is enough for a process that is killed.
func (s *Server) mariadb() error {
	s.At.User = "root"
	_, port, _ := net.SplitHostPort(s.At.Address)
	s.words = []string{
		"/usr/sbin/mariadbd", "--no-defaults", "--datadir=" + filepath.Join(s.Dir, "data"), "--tmpdir=" + s.Dir, "--socket=", "--bind-address=127.0.0.1", "--port=" + port,
		"--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=2", "--local-infile", "--debug-gdb",
	}
	if err := s.make(s.command(append([]string{"sh", "-c", own}, s.words...)...)); err != nil {
		return fmt.Errorf("create the system tables of mariadbd (not installed? run ./setup test): %w", err)
	}
	return nil
}

// blank are folders of servers that never ran, by protocol.
var blank = struct {
	sync.Mutex
	data map[string]string
}{data: map[string]string{}}

// make makes the folder data by a command, which takes seconds of CPU time, or copies the one that it made first. That lies beside the
// program of the test, with which go test removes it.
func (s *Server) make(c *exec.Cmd) error {
	blank.Lock()
	defer blank.Unlock()
	data := filepath.Join(s.Dir, "data")
	if first := blank.data[s.Protocol]; first != "" && s.Prepare == nil {
		return clone(first, data)
	}
	if said, err := c.CombinedOutput(); err != nil || s.Prepare != nil {
		return told(err, said)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	first := filepath.Join(filepath.Dir(self), "blank-"+s.Protocol)
	if err := os.RemoveAll(first); err != nil {
		return err
	}
	blank.data[s.Protocol] = first
	return clone(data, first)
}

// clone copies a folder with the owners of its files.
func clone(from, to string) error {
	said, err := exec.Command("cp", "-a", "--reflink=auto", from, to).CombinedOutput()
	return told(err, said)
}

// told is the error of a command, with what it printed.
func told(err error, said []byte) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", err, said)
}
