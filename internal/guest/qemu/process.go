package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"plimsoll/internal/guest/child"
	"plimsoll/internal/guest/outpost"
)

// process is a running QEMU.
type process struct {
	cmd     *exec.Cmd     // nil on another host
	far     *outpost.QEMU // nil on this host
	console *log
	errors  *complaints
	ended   <-chan struct{} // closed once QEMU has exited and its output is read
	err     error           // how it exited; valid once ended
}

// launch starts QEMU, with files from descriptor 3 on.
func launch(binary string, args []string, console *log, files ...*os.File) (*process, error) {
	p := &process{cmd: exec.Command(binary, args...), console: console, errors: &complaints{}}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = p.console, p.errors, files
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "CEPH_ARGS=") }) // of the user: they would lead to another cluster
	var err error
	if p.ended, err = child.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("start QEMU: %w", err)
	}
	return p, nil
}

// how says how it ended.
func (p *process) how() string {
	if p.far != nil {
		return p.far.How()
	}
	return fmt.Sprint(p.cmd.ProcessState)
}

func (p *process) kill() {
	if p.far != nil {
		p.far.Kill()
		return
	}
	_ = p.cmd.Process.Kill() // it may have exited already
	<-p.ended
}

// wait waits for QEMU until the context ends.
func (p *process) wait(ctx context.Context) bool {
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// complaint is the last output of QEMU and of the guest.
func (p *process) complaint() string {
	text := p.errors.lastLines(5)
	if c := p.console.lastLines(5); c != "" {
		text += "\nconsole: " + c
	}
	if text == "" {
		return "neither QEMU nor the guest's console printed anything"
	}
	return text
}

// monitorPair returns both ends of an unnamed control socket: a connection, and the file for
// QEMU.
func monitorPair() (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a control socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "monitor"), os.NewFile(uintptr(fds[1]), "monitor")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("create a control socket: %w", err), theirs.Close())
	}
	return conn, theirs, nil
}
