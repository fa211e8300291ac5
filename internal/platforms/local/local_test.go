package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

func opened(t *testing.T) *machine {
	t.Helper()
	l, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l.machine
}

func TestRunReportsHowTheCommandEnded(t *testing.T) {
	m := opened(t)
	tests := []struct {
		name, script string
		want         platform.Result
	}{
		{"success", "echo out; echo err >&2", platform.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n")}},
		{"failure", "exit 3", platform.Result{Exit: 3}},
		{"signal", "kill -TERM $$", platform.Result{Exit: -1, Signal: "SIGTERM"}},
	}
	for _, test := range tests {
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", test.script}})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if r.Exit != test.want.Exit || r.Signal != test.want.Signal || !bytes.Equal(r.Stdout, test.want.Stdout) || !bytes.Equal(r.Stderr, test.want.Stderr) {
			t.Errorf("%s: got %+v, want %+v", test.name, r, test.want)
		}
	}
}

func TestRunOfAnAbsentProgramIsAnError(t *testing.T) {
	_, err := opened(t).Run(t.Context(), platform.Command{Argv: []string{"/nowhere/program"}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "start /nowhere/program") {
		t.Errorf("got %v", err)
	}
	if _, err := opened(t).Run(t.Context(), platform.Command{}); err == nil {
		t.Error("no program is no error")
	}
}

// Programs of the system are found where a plain user's PATH does not lead, by the command
// and by what it runs.
func TestProgramsOfTheSystemAreFound(t *testing.T) {
	if _, err := os.Stat("/usr/sbin/ldconfig"); err != nil {
		t.Skip("there is no ldconfig in /usr/sbin")
	}
	m := opened(t)
	t.Setenv("PATH", "/usr/bin:/bin")
	for _, argv := range [][]string{{"ldconfig", "--version"}, {"sh", "-c", "ldconfig --version"}} {
		r, err := m.Run(t.Context(), platform.Command{Argv: argv})
		if err != nil || r.Exit != 0 {
			t.Errorf("%q: %v, %+v", argv, err, r)
		}
	}
}

func TestRunCountsCPUTime(t *testing.T) {
	r, err := opened(t).Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}})
	if err != nil || r.User+r.System <= 0 || r.User+r.System > time.Minute {
		t.Errorf("got %v user, %v system, %v", r.User, r.System, err)
	}
}

func TestStderrKeepsItsEnd(t *testing.T) {
	r, err := opened(t).Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x >&2; printf end >&2"}})
	if err != nil || len(r.Stderr) != keptStderr || !bytes.HasSuffix(r.Stderr, []byte("xend")) {
		t.Errorf("kept %d bytes, %v", len(r.Stderr), err)
	}
}

func TestOutputComesWhileTheCommandRuns(t *testing.T) {
	m := opened(t)
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "echo ready; exec sleep 60"}, Stdout: out, Stop: stop})
		ended <- err
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Errorf("read %q, %v", line, err)
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStopInterruptsAndThenKills(t *testing.T) {
	m := opened(t)
	m.grace = 50 * time.Millisecond
	tests := []struct {
		name, script, signal string
		exit                 int
	}{
		{"obeys", "trap 'exit 7' INT; echo ready; while :; do sleep 0.01; done", "", 7},
		{"refuses", "trap '' INT; echo ready; while :; do sleep 1; done", "SIGKILL", -1},
		{"refuses without a mark", `exec env -i sh -c "trap '' INT; echo ready; while :; do sleep 1; done"`, "SIGKILL", -1},
	}
	for _, test := range tests {
		stop := make(chan struct{})
		r, err := m.Run(t.Context(), platform.Command{
			Argv:   []string{"sh", "-c", test.script},
			Stdout: writerFunc(func([]byte) { close(stop) }),
			Stop:   stop,
		})
		if err != nil || r.Signal != test.signal || r.Exit != test.exit {
			t.Errorf("%s: got %+v, %v", test.name, r, err)
		}
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// brood starts a process that reads a line, forks, and prints the PIDs of both.
const brood = "read -r line; sleep 100 & echo $$ $!; wait"

// unmarked does the same with processes that have lost their environment.
const unmarked = "exec env -i sh -c '" + brood + "'"

func pids(t *testing.T, line string) []int {
	t.Helper()
	var list []int
	for f := range strings.FieldsSeq(line) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("%q is no PID", f)
		}
		list = append(list, pid)
	}
	if len(list) != 2 {
		t.Fatalf("want two PIDs, got %q", line)
	}
	return list
}

func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func mustDie(t *testing.T, list []int) {
	t.Helper()
	deadline := time.After(5 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for _, pid := range list {
		for alive(pid) {
			select {
			case <-tick.C:
			case <-deadline:
				_ = unix.Kill(pid, unix.SIGKILL)
				t.Fatalf("process %d still runs", pid)
			}
		}
	}
}

func TestCancelKillsTheWholeGroup(t *testing.T) {
	m := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	var line string
	r, err := m.Run(ctx, platform.Command{
		Argv:   []string{"sh", "-c", brood},
		Stdout: writerFunc(func(p []byte) { line = string(p); cancel() }),
	})
	if !errors.Is(err, context.Canceled) || r.Signal != "SIGKILL" {
		t.Errorf("got %+v, %v", r, err)
	}
	mustDie(t, pids(t, line))
}

func TestAWorkerLeavesNothingBehind(t *testing.T) {
	m := opened(t)
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $$ $!"}, Worker: true})
	if err != nil {
		t.Fatal(err)
	}
	mustDie(t, pids(t, string(r.Stdout)))
}

func TestAnotherCommandMayLeaveAProcessBehind(t *testing.T) {
	m := opened(t)
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "sleep 100 >/dev/null 2>&1 & echo $$ $!"}})
	if err != nil {
		t.Fatal(err)
	}
	left := pids(t, string(r.Stdout))[1]
	if !alive(left) {
		t.Error("what the user's command started was killed")
	}
	if err := unix.Kill(left, unix.SIGKILL); err != nil {
		t.Error(err)
	}
}

// hearing is the pipe to a guard. Its reader gets a line once the guard has heard of something.
type hearing struct {
	io.WriteCloser
	of   string
	done chan struct{}
}

func (h *hearing) Write(p []byte) (int, error) {
	n, err := h.WriteCloser.Write(p)
	if bytes.HasPrefix(p, []byte(h.of)) {
		close(h.done)
	}
	return n, err
}

func (h *hearing) Read(p []byte) (int, error) {
	<-h.done
	return copy(p, "\n"), io.EOF
}

// TestMain also plays a plimsoll that is about to die.
func TestMain(m *testing.M) {
	if os.Getenv("LOCAL_TEST_VICTIM") != "" {
		l, err := open(context.Background())
		if err == nil {
			if quota := os.Getenv("LOCAL_TEST_QUOTA"); quota != "" {
				err = l.machine.Confine(context.Background(), platform.Confinement{Quota: quota})
			}
		}
		if err == nil {
			err = l.machine.guard.ready()
		}
		if err == nil {
			heard := &hearing{WriteCloser: l.machine.guard.pipe, of: "lead", done: make(chan struct{})}
			l.machine.guard.pipe = heard
			_, err = l.machine.Run(context.Background(), platform.Command{
				Argv: []string{"sh", "-c", os.Getenv("LOCAL_TEST_VICTIM")}, Stdin: heard, Stdout: os.Stdout, Worker: true,
			})
		}
		if err != nil {
			os.Stderr.WriteString(err.Error())
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// victim starts a plimsoll with a worker and returns it with the worker's PIDs.
func victim(t *testing.T, env ...string) (*exec.Cmd, []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append([]string{"LOCAL_TEST_VICTIM=" + brood}, env...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the victim said nothing: %v", err)
	}
	return cmd, pids(t, line)
}

func TestAllProcessesDieWithPlimsoll(t *testing.T) {
	for _, c := range []struct {
		s      unix.Signal
		script string
	}{{unix.SIGKILL, brood}, {unix.SIGTERM, brood}, {unix.SIGKILL, unmarked}} {
		s := c.s
		cmd, workers := victim(t, "LOCAL_TEST_VICTIM="+c.script)
		if !alive(workers[0]) || !alive(workers[1]) {
			t.Fatal("the worker does not run")
		}
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		mustDie(t, workers)
	}
}

func TestFiles(t *testing.T) {
	m := opened(t)
	name := filepath.Join(t.TempDir(), "file")
	if _, err := m.ReadFile(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	if err := m.WriteFile(t.Context(), name, []byte("one\n")); err != nil {
		t.Fatal(err)
	}
	got, err := m.ReadFile(t.Context(), name)
	if err != nil || string(got) != "one\n" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := m.WriteFile(t.Context(), "/proc/self/no-such-file", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of the kernel was made: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.WriteFile(ctx, name, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("write after the end: %v", err)
	}
}

func TestObserver(t *testing.T) {
	m := opened(t)
	c, err := m.Clock(t.Context())
	if err != nil || c.MaxError < 0 {
		t.Errorf("clock %+v, %v", c, err)
	}
	s, err := m.Space(t.Context(), t.TempDir())
	if err != nil || s.Size <= 0 || s.Free <= 0 || s.Free > s.Size {
		t.Errorf("space %+v, %v", s, err)
	}
	if _, err := m.Space(t.Context(), "/nowhere"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("space of an absent folder: %v", err)
	}
}

// Where the kernel kills a command for lack of memory, or a process that the command had started, the result says so; where somebody
// else kills it, it does not.
func TestOutOfMemory(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to make a control group")
	}
	group := memoryGroup(t, "24M")
	m := opened(t)
	for script, want := range map[string]platform.Result{
		"echo $$ >" + group + "/cgroup.procs; exec dd if=/dev/zero of=/dev/null bs=200M count=1":              {Signal: "SIGKILL", OutOfMemory: true},
		"echo $$ >" + group + "/cgroup.procs; dd if=/dev/zero of=/dev/null bs=200M count=1 || exit 7; exit 0": {OutOfMemory: true},
		"kill -KILL $$": {Signal: "SIGKILL"},
	} {
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Signal != want.Signal || r.OutOfMemory != want.OutOfMemory || r.Exit == 0 {
			t.Errorf("%s: exit %d, signal %q, out of memory %v", script, r.Exit, r.Signal, r.OutOfMemory)
		}
	}
}

// memoryGroup makes a control group with a limit of memory.
func memoryGroup(t *testing.T, limit string) string {
	t.Helper()
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	membership, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	found, err := platform.FindControlGroup(mountinfo, membership, "memory")
	if err != nil {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp(found.Folder, "memory-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
		defer tick.Stop()
		for os.Remove(dir) != nil { // its last process may still be dying
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s stays", dir)
			}
		}
	})
	for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
		if err = os.WriteFile(filepath.Join(dir, name), []byte(limit), 0); err == nil {
			return dir
		}
	}
	t.Skip(err)
	return ""
}
