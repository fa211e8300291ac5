package outpost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a QEMU on this host, which ends with this process.
type process struct {
	cmd   *exec.Cmd
	pid   int
	ended chan struct{}
}

// output passes on what QEMU prints.
type output struct {
	wire *wire
	kind kind
}

func (o output) Write(p []byte) (int, error) { return len(p), o.wire.send(o.kind, p) }

// launch starts QEMU, with files from descriptor 3 on. The parent-death signal is tied to the thread that started it, so that thread is kept.
func launch(o Order, w *wire, files ...*os.File) (*process, error) {
	p := &process{cmd: exec.Command(o.Binary, o.Args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = output{w, kindConsole}, output{w, kindComplaint}, files
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CEPH_ARGS=") })
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = p.cmd.Wait() // how says how
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start QEMU: %w", err)
	}
	p.pid = p.cmd.Process.Pid
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have exited already
	<-p.ended
}

func (p *process) how() string { return fmt.Sprint(p.cmd.ProcessState) }

// newMemory is a file in memory.
func newMemory(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a file in memory for the guest: %w", err)
	}
	f := os.NewFile(uintptr(fd), "guest memory")
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(fmt.Errorf("create a file in memory for the guest: %w", err), f.Close())
	}
	return f, nil
}
