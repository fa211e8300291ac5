package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T, number int) *Session {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "session"), number)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestCommandsRunInTheFolderAndTheGroup(t *testing.T) {
	t.Parallel()
	s := open(t, 1)
	out, err := s.Run(t.Context(), "sh", "-c", `pwd; echo "$HOME"; cut -d" " -f5 /proc/self/stat; cat /proc/self/cgroup`)
	lines := strings.Split(string(out), "\n")
	if err != nil || lines[0] != s.Path("work") || lines[1] != s.Path("home") || lines[2] != strconv.Itoa(s.leader.cmd.Process.Pid) {
		t.Fatalf("%v: %s", err, out)
	}
	if s.Grouped() != strings.Contains(string(out), prefix) {
		t.Errorf("with a control group: %t, but %s", s.Grouped(), out)
	}
	if _, err := s.Run(t.Context(), "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"); err != nil || s.CPU() <= 0 || s.Memory() < 100<<10 {
		t.Errorf("%v; CPU %s, memory %d", err, s.CPU(), s.Memory())
	}
	for want, argv := range map[string][]string{
		"exit status 3: second": {"sh", "-c", "echo first >&2; echo second >&2; exit 3"},
		"sh: exit status 4":     {"sh", "-c", "exit 4"},
		"not found":             {"no-such-program"},
	} {
		if _, err := s.Run(t.Context(), argv...); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrLost) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for from := time.Now(); time.Since(from) < 10*time.Second; <-tick.C {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

// background starts a process that outlives its command, and returns its number.
func background(t *testing.T, s *Session) int {
	t.Helper()
	out, err := s.Run(t.Context(), "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestAStuckCommandEndsTheSession(t *testing.T) {
	t.Parallel()
	s := open(t, 2)
	left := background(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Run(ctx, "sleep", "1000"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a command that takes too long: %v", err)
	}
	gone(t, left)
	if _, err := s.Run(t.Context(), "true"); !errors.Is(err, errOver) {
		t.Errorf("a session that was killed: %v", err)
	}
}

func TestAKilledSessionIsLost(t *testing.T) {
	t.Parallel()
	s := open(t, 3)
	left := background(t, s)
	if err := syscall.Kill(-s.leader.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, left)
	<-s.leader.over
	for range 2 {
		if _, err := s.Run(t.Context(), "true"); !errors.Is(err, ErrLost) {
			t.Errorf("got %v", err)
		}
	}
}

func TestASessionKilledInACommandIsLost(t *testing.T) {
	t.Parallel()
	s := open(t, 4)
	if _, err := s.Run(t.Context(), "sh", "-c", "kill -s KILL 0; sleep 1000"); !errors.Is(err, ErrLost) {
		t.Errorf("got %v", err)
	}
}

// The leader kills the group when the pipe from this process is closed, as at the death of the process.
func TestSessionsEndWithThisProcess(t *testing.T) {
	t.Parallel()
	s := open(t, 5)
	left := background(t, s)
	if err := s.leader.in.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, left)
	<-s.leader.over
}

func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "session"), 6)
	if err != nil {
		t.Fatal(err)
	}
	left := background(t, s)
	s.Close()
	gone(t, left)
	if s.group == nil {
		return
	}
	if _, err := os.Stat(s.group.folder); err == nil {
		t.Errorf("%s is left", s.group.folder)
	}
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(file, "session"), 7); err == nil || !strings.Contains(err.Error(), "create the profile of session 7") {
		t.Errorf("got %v", err)
	}
}

func FuzzUsage(f *testing.F) {
	f.Add([]byte("usage_usec 1500\nuser_usec 1000\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if used, ok := parseUsage(text); used < 0 && ok {
			t.Errorf("%s", used)
		}
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"usage_usec 1500\nuser_usec 1000\n": 1500 * time.Microsecond, "user_usec 7": -1, "usage_usec x": -1, "": -1} {
		if got, ok := parseUsage([]byte(text)); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
