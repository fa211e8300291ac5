// Package child starts programs that end with this process.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts a command in a process group of its own, which the kernel kills when this process ends. The channel is closed when the command
// has ended and its output is read; its ProcessState says how.
//
// The parent-death signal is tied to the thread that started the command (prctl(2), PR_SET_PDEATHSIG), so that thread is kept.
func Start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	over, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(over)
		}
	}()
	return over, <-started
}
