package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

const (
	keptStderr = 64 << 10
	// pipeDelay is how long output is awaited from processes that a command left
	// behind and that hold its pipes open.
	pipeDelay = 2 * time.Second
)

// Run runs a command. Where the context ends it, the result so far comes with
// the context's error.
func (m *machine) Run(ctx context.Context, c platform.Command) (result platform.Result, err error) {
	ended := platform.LogCommand(ctx, m.Name(), c.Argv)
	defer func() { ended(result, err) }()
	if len(c.Argv) == 0 {
		return platform.Result{}, errors.New("a command without a program")
	}
	if err := ctx.Err(); err != nil {
		return platform.Result{}, err
	}
	if err := m.guard.ready(); err != nil {
		return platform.Result{}, err
	}
	type outcome struct {
		result platform.Result
		err    error
	}
	done := make(chan outcome)
	go func() {
		// The kernel ends the command when the thread that started it ends, so the
		// thread is kept until then.
		runtime.LockOSThread()
		r, clean, err := m.run(ctx, c)
		if clean {
			runtime.UnlockOSThread()
		}
		done <- outcome{r, err}
	}()
	o := <-done
	return o.result, o.err
}

// sbin are the folders of programs of the system, such as losetup. On many systems a plain
// user's PATH does not lead there.
var sbin = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// command is a command whose program is also searched in the system's folders.
func command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	for _, folder := range sbin {
		if !errors.Is(cmd.Err, exec.ErrNotFound) || strings.Contains(argv[0], "/") {
			break
		}
		if at, err := exec.LookPath(filepath.Join(folder, argv[0])); err == nil {
			cmd.Path, cmd.Err = at, nil
		}
	}
	return cmd
}

// searched is a PATH that ends in the folders of programs of the system.
func searched(path string) string {
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	folders := filepath.SplitList(path)
	for _, folder := range sbin {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return strings.Join(folders, string(filepath.ListSeparator))
}

// run reports whether its thread is as it was.
func (m *machine) run(ctx context.Context, c platform.Command) (r platform.Result, clean bool, err error) {
	cmd := command(ctx, c.Argv)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = c.Dir, c.Stdin, pipeDelay
	mark := m.newMark()
	cmd.Env = append(os.Environ(), "PATH="+searched(os.Getenv("PATH")), "LC_ALL=C", "TZ=UTC", markName+"="+mark) // so that its output can be read
	var stdout bytes.Buffer
	stderr := &tail{limit: keptStderr}
	cmd.Stdout, cmd.Stderr = c.Stdout, stderr
	if c.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if c.Joined {
		cmd.Stderr = cmd.Stdout
	}
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error {
		killMarked(mark)
		return killGroup(cmd.Process.Pid, unix.SIGKILL)
	}
	if err := m.guard.add(mark); err != nil {
		return r, true, err
	}
	defer func() { err = errors.Join(err, m.guard.drop(mark)) }()
	kills := oomKills()
	clean, err = m.launch(cmd, c.Worker)
	if err != nil {
		return r, clean, fmt.Errorf("start %s: %w", c.Argv[0], err)
	}
	pid := cmd.Process.Pid
	if err := m.guard.lead(mark, pid); err != nil {
		_ = cmd.Cancel()
		return r, clean, errors.Join(err, cmd.Wait())
	}
	stopped := make(chan struct{})
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		m.stopWhenAsked(running{pid, mark}, c.Stop, stopped)
	}()
	err = cmd.Wait()
	close(stopped)
	<-asked
	if c.Worker {
		killMarked(mark) // leftovers of a worker must not load the next trial
	}
	r = result(cmd, stdout.Bytes(), stderr.bytes())
	r.OutOfMemory = r.Exit != 0 && oomKills() != kills
	return r, clean, trouble(ctx, c.Argv[0], err)
}

// running is a command that runs.
type running struct {
	pid  int
	mark string
}

func result(cmd *exec.Cmd, stdout, stderr []byte) platform.Result {
	s := cmd.ProcessState
	r := platform.Result{Exit: s.ExitCode(), Stdout: stdout, Stderr: stderr, User: s.UserTime(), System: s.SystemTime()}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		r.Signal = unix.SignalName(w.Signal())
	}
	return r
}

// oomKills is how many processes of this machine the kernel has killed for lack of memory, its own or that of a control
// group; empty where the kernel does not count them (before 4.13).
func oomKills() string {
	text, _ := os.ReadFile("/proc/vmstat")
	_, rest, _ := strings.Cut(string(text), "\noom_kill ")
	count, _, _ := strings.Cut(rest, "\n")
	return count
}

// trouble is the part of the outcome that is not the command's own doing.
func trouble(ctx context.Context, program string, err error) error {
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s was ended: %w", program, context.Cause(ctx))
	case err == nil, errors.As(err, &failed), errors.Is(err, exec.ErrWaitDelay):
		return nil
	}
	return fmt.Errorf("output of %s: %w", program, err)
}

// stopWhenAsked sends the command a request to exit, and kills it after the grace period.
func (m *machine) stopWhenAsked(r running, stop <-chan struct{}, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-stop:
	}
	_ = killGroup(r.pid, unix.SIGINT)
	grace := time.NewTimer(m.grace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-grace.C:
		killMarked(r.mark)
		_ = killGroup(r.pid, unix.SIGKILL)
	}
}

// killGroup signals every process of a group; one that is gone is no error.
func killGroup(group int, s unix.Signal) error {
	err := unix.Kill(-group, s)
	if errors.Is(err, unix.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
