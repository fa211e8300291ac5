package compile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// tool is a compiler with its flags and folders.
type tool struct {
	name                string // as configured
	path                string
	optimise            string
	src, out, temporary string
	busy                *sync.WaitGroup // processes that were started
}

// hang is how long output is awaited of a process that was killed.
const hang = 2 * time.Second

// compile makes the object of a unit. Warnings are another's business.
func (t *tool) compile(ctx context.Context, u unit) (cpu time.Duration, err error) {
	cpu, _, err = t.run(ctx, t.path, "-std=gnu99", "-"+t.optimise, "-w", "-frecord-gcc-switches", "-DLUA_COMPAT_5_3", "-c", "-o", filepath.Join(t.out, u.object()), u.name)
	if err != nil {
		return cpu, fmt.Errorf("compile %s: %w", u.name, err)
	}
	return cpu, nil
}

func (t *tool) link(ctx context.Context, program string, objects []string) (cpu time.Duration, err error) {
	args := []string{"-o", filepath.Join(t.out, program)}
	for _, o := range objects {
		args = append(args, filepath.Join(t.out, o))
	}
	cpu, _, err = t.run(ctx, t.path, append(args, "-lm")...)
	if err != nil {
		return cpu, fmt.Errorf("link %s: %w", program, err)
	}
	return cpu, nil
}

// start runs a program and returns its output.
func (t *tool) start(ctx context.Context, program string, args ...string) (string, error) {
	_, said, err := t.run(ctx, program, args...)
	return said, err
}

// run runs a command to its end. It dies with this process, and with all that it started
// when the context ends.
func (t *tool) run(ctx context.Context, program string, args ...string) (cpu time.Duration, said string, err error) {
	if ctx.Err() != nil {
		return 0, "", context.Cause(ctx)
	}
	t.busy.Add(1)
	defer t.busy.Done()
	// The kernel ends the command when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = t.src, hang
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+t.temporary)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	dieTogether(cmd)
	err = cmd.Run()
	if cmd.ProcessState != nil {
		cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return cpu, "", context.Cause(ctx)
	case err != nil && stderr.Len() > 0:
		return cpu, "", fmt.Errorf("%s: %w", firstLine(stderr.Bytes()), err)
	}
	return cpu, stdout.String(), err
}

func dieTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// levels are the optimisation levels of the settings.
var levels = []string{"O0", "O1", "O2", "O3", "Os"}

// recorded is the level of optimisation that the compiler noted in an object, as one word
// of its command line; empty where it noted none.
func recorded(object []byte) (level string) {
	word := func(b byte) bool { return b > ' ' && b < 0x7f }
	for at := 0; ; at++ {
		next := bytes.Index(object[at:], []byte("-O"))
		if next < 0 {
			return level
		}
		at += next
		end := at
		for end < len(object) && word(object[end]) {
			end++
		}
		if at > 0 && !word(object[at-1]) && slices.Contains(levels, string(object[at+1:end])) {
			level = string(object[at+1 : end])
		}
	}
}
