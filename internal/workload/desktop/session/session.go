// Package session has the processes of a desktop session together: in a folder, a process group and, where the kernel and the
// permissions allow it, a control group of their own.
package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrLost reports that others than the session ended its processes.
var ErrLost = errors.New("the session is lost: its processes were killed")

// Session is the processes of one person.
type Session struct {
	folder    string
	temporary string // folder
	env       []string
	group     *group // nil without a control group

	mu     sync.Mutex
	leader *leader
	killed bool          // by ourselves
	cpu    time.Duration // of commands that have ended
	peak   int64         // resident bytes of the largest process
}

// Open makes the folder of a session, which must not exist, and its first process. The error is for a folder that cannot be
// made or written to.
func Open(folder string, number int) (*Session, error) {
	s := &Session{folder: folder, temporary: filepath.Join(folder, "tmp")}
	for _, dir := range []string{folder, s.temporary, s.Path("home"), s.Path("work")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("create the profile of session %d: %w", number, err)
		}
	}
	var err error
	if len(s.temporary) > longest {
		if s.temporary, err = os.MkdirTemp("", "plimsoll-"); err != nil {
			return nil, fmt.Errorf("create the profile of session %d: %w", number, err)
		}
	}
	s.env = append(os.Environ(), "HOME="+s.Path("home"), "TMPDIR="+s.temporary, "XDG_RUNTIME_DIR="+s.temporary, "LC_ALL=C.UTF-8")
	s.group = newGroup()
	if s.leader, err = lead(s.group); err != nil {
		s.group.remove()
		return nil, errors.Join(fmt.Errorf("start session %d: %w", number, err), os.RemoveAll(s.temporary))
	}
	return s, nil
}

// longest is the longest path of a folder for temporary files, in which programs make sockets: their paths have at most 107 bytes
// (unix(7)).
const longest = 50

// Path is a file or folder of the session.
func (s *Session) Path(name string) string { return filepath.Join(s.folder, name) }

// Grouped reports whether the session has a control group.
func (s *Session) Grouped() bool { return s.group != nil }

// mostOutput bounds what is kept of the output of a command.
const mostOutput = 4 << 20

// hang is how long output is awaited of a process that was killed.
const hang = 2 * time.Second

// Run runs a command in the folder "work" to its end, and returns its output. When the context ends, all processes of the
// session are killed, and it is over. The error wraps ErrLost once others killed the session.
func (s *Session) Run(ctx context.Context, argv ...string) ([]byte, error) {
	l, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	// The kernel ends the command when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = s.Path("work"), s.env, hang
	stdout, stderr := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: l.cmd.Process.Pid, Pdeathsig: syscall.SIGKILL}
	s.group.hold(cmd.SysProcAttr)
	cmd.Cancel = func() error { s.kill(); return nil }
	err = cmd.Run()
	s.account(cmd.ProcessState)
	switch {
	case ctx.Err() != nil:
		s.kill() // also what the command has left behind
		return nil, context.Cause(ctx)
	case err == nil:
		return stdout.kept.Bytes(), nil
	case l.ended() || l.gone():
		return nil, s.lost()
	case stderr.kept.Len() > 0:
		return nil, fmt.Errorf("%s: %w: %s", filepath.Base(argv[0]), err, lastLine(stderr.kept.Bytes()))
	}
	return nil, fmt.Errorf("%s: %w", filepath.Base(argv[0]), err)
}

// gone reports whether the leader ends within a moment: who kills a process group does not kill all of it at one instant.
func (l *leader) gone() bool {
	const moment = 50 * time.Millisecond
	timer := time.NewTimer(moment)
	defer timer.Stop()
	select {
	case <-l.over:
		return true
	case <-timer.C:
		return false
	}
}

// errOver reports that the session has been closed, or killed with a command that was stuck.
var errOver = errors.New("the session is over")

// current is the leader of the process group in which a command starts.
func (s *Session) current(ctx context.Context) (*leader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.killed:
		return nil, errOver
	case s.leader.ended():
		return nil, ErrLost
	}
	return s.leader, nil
}

// lost ends what is left of a session that others ended.
func (s *Session) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader.kill()
	s.group.kill()
	return ErrLost
}

// kill ends all processes of the session.
func (s *Session) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leader.ended() {
		return // by others, and then the session is lost, or before
	}
	s.killed = true
	s.leader.kill()
	s.group.kill()
}

// Close ends all processes of the session and removes its temporary files. The rest of its folder stays.
func (s *Session) Close() {
	s.kill()
	<-s.leader.over
	s.group.remove()
	_ = os.RemoveAll(s.temporary)
}

func (s *Session) account(p *os.ProcessState) {
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cpu += p.UserTime() + p.SystemTime()
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		s.peak = max(s.peak, u.Maxrss<<10)
	}
}

// CPU is the CPU time of the session's processes so far: of its control group, or without one of the commands that have ended.
func (s *Session) CPU() time.Duration {
	if used, ok := s.group.cpu(); ok {
		return used
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cpu
}

// Memory is the peak of the session's memory in bytes: of its control group where that is counted, or else of its largest
// process.
func (s *Session) Memory() int64 {
	if bytes, ok := s.group.memory(); ok {
		return bytes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// leader is the first process of a process group. It ends with this process, whatever ends that, and kills the group.
type leader struct {
	cmd  *exec.Cmd
	in   io.Closer
	over chan struct{} // closed when it has ended
}

func lead(g *group) (*leader, error) {
	cmd := exec.Command("sh", "-c", "while read -r _; do :; done; kill -s KILL 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	g.hold(cmd.SysProcAttr)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &leader{cmd, in, make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is always killed
		close(l.over)
	}()
	return l, nil
}

func (l *leader) ended() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// kill ends the process group. Its number is not given to another one while one of its processes is there.
func (l *leader) kill() {
	_ = syscall.Kill(-l.cmd.Process.Pid, syscall.SIGKILL)
	_ = l.in.Close()
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// bounded keeps the beginning of an output.
type bounded struct{ kept bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := mostOutput - b.kept.Len(); room > 0 {
		_, _ = b.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
