package cqliot

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/cassandra"
	"plimsoll/internal/workload"
)

// server is a real Cassandra whose nodes can be stopped, killed and started anew.
type server struct {
	dir     string
	at      load.Endpoint
	env     workload.Env
	machine platform.Machine
	end     func(func()) // has something done when the server is not needed any more
}

// serve starts one as the service does, with what the settings add to a small node.
func serve(t *testing.T, settings parameter.Settings) *server {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to test with the real cassandra")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	small := parameter.Settings{
		"heap": "512MiB", "collector": "serial", "compiler": "quick", "commitlog_total_space": "192MiB", "memtable_heap_space": "64MiB", "memtable_offheap_space": "64MiB",
	}
	maps.Copy(small, settings)
	s, err := cassandra.Kind().New(small)
	if err != nil {
		t.Fatal(err)
	}
	dir := roomy(t)
	if _, err := s.Check(t.Context(), service.Env{Machine: p.Machine(), Dir: dir}); err != nil {
		t.Skipf("Cassandra cannot be started here: %v", err)
	}
	i, err := s.Start(t.Context(), service.Env{Machine: p.Machine(), Dir: filepath.Join(dir, "instance"), Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	one := &server{dir: filepath.Join(dir, "instance"), machine: p.Machine(), end: t.Cleanup}
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(one.dir, "errors.log")); err == nil && t.Failed() {
			t.Logf("it logged: %s", log)
		}
		one.starter(t, syscall.SIGCONT)
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if one.at, err = i.Endpoint(protocol); err != nil {
		t.Fatal(err)
	}
	one.env = environment(one.at, t.Logf)
	return one
}

func environment(at load.Endpoint, log func(string, ...any)) workload.Env {
	return workload.Env{Seed: 7, Target: func(string) (load.Endpoint, error) { return at, nil }, Log: log}
}

// room is what the file system of a server holds that is to be full once.
const room = 400 << 20

// roomy is a folder that the account nobody can enter, on a small file system of its own
// where the test may mount one.
func roomy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 && syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=755", room)) == nil {
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	}
	return dir
}

// process finds the one of a program whose command line holds a word, and the command line.
func process(program, word string) (pid int, argv []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		data, err := os.ReadFile(name)
		words := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
		if err != nil || filepath.Base(words[0]) != program || !slices.Contains(words, word) {
			continue
		}
		if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			return pid, words
		}
	}
	return 0, nil
}

// starter signals the script that ends all nodes when one has ended.
func (s *server) starter(t *testing.T, what syscall.Signal) {
	t.Helper()
	if pid, _ := process("sh", s.dir+"/start.sh"); pid > 0 {
		_ = syscall.Kill(pid, what) // it may have ended
	}
}

// node is the process of a node, from 0, and its command line.
func (s *server) node(t *testing.T, number int) (pid int, argv []string) {
	t.Helper()
	pid, argv = process("java", fmt.Sprintf("-Dcassandra.config=file://%s/%d.yaml", s.dir, number))
	if pid == 0 {
		t.Errorf("node %d does not run", number)
	}
	return pid, argv
}

func (s *server) signal(t *testing.T, number int, what syscall.Signal) {
	t.Helper()
	if pid, _ := s.node(t, number); pid > 0 {
		if err := syscall.Kill(pid, what); err != nil {
			t.Error(err)
		}
	}
}

// restart kills a node and starts it again on what it holds, with more settings.
func (s *server) restart(t *testing.T, number int, more string, flags ...string) {
	t.Helper()
	s.start(t, number, s.kill(t, number), more, flags...)
}

// kill kills a node, and is the command line that started it. The others go on.
func (s *server) kill(t *testing.T, number int) (argv []string) {
	t.Helper()
	s.starter(t, syscall.SIGSTOP)
	pid, argv := s.node(t, number)
	if pid > 0 {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	return argv
}

// start starts a node that was killed.
func (s *server) start(t *testing.T, number int, argv []string, more string, flags ...string) {
	t.Helper()
	if len(argv) == 0 {
		return // it was not there, as was told
	}
	config, err := os.OpenFile(filepath.Join(s.dir, strconv.Itoa(number)+".yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = config.WriteString(more)
		config.Close()
	}
	if err != nil {
		t.Error(err)
		return
	}
	if info, err := os.Stat(s.dir); err == nil && os.Getuid() == 0 {
		owner := info.Sys().(*syscall.Stat_t)
		argv = slices.Concat([]string{"setpriv", fmt.Sprintf("--reuid=%d", owner.Uid), fmt.Sprintf("--regid=%d", owner.Gid), "--clear-groups", "--"}, argv[:1], flags, argv[1:])
	}
	life, kill := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.machine.Run(life, platform.Command{Argv: argv, Dir: s.dir}) // it is killed in the end
	}()
	s.end(func() {
		kill()
		<-ended
	})
}

// await waits until a server lets one in, be it as somebody else.
func await(t *testing.T, at load.Endpoint) {
	t.Helper()
	place, err := cql.At(at, cql.V4)
	if err != nil {
		t.Fatal(err)
	}
	for over := time.Now().Add(2 * time.Minute); ; <-time.After(50 * time.Millisecond) {
		c, err := cql.Dial(t.Context(), place)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(over) {
			t.Fatalf("the server does not come back: %v", err)
		}
	}
}

// ask asks a server one question.
func ask(t *testing.T, at load.Endpoint, text string) [][]string {
	t.Helper()
	place, err := cql.At(at, cql.V4)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cql.Dial(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rows, err := c.Query(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
