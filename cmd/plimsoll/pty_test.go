package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pty is a terminal with a process in it, as a terminal window or ssh makes it.
type pty struct {
	master *os.File
	cmd    *exec.Cmd
	over   chan struct{}

	mu   sync.Mutex
	seen bytes.Buffer
}

// openPTY starts a command as the leader of a session with a terminal of its own.
func openPTY(t *testing.T, cmd *exec.Cmd) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	p := &pty{master: master, cmd: cmd, over: make(chan struct{})}
	var number int
	control(t, master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return err
	})
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go p.read()
	return p
}

func control(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func (p *pty) read() {
	defer close(p.over)
	chunk := make([]byte, 4096)
	for {
		n, err := p.master.Read(chunk)
		p.mu.Lock()
		p.seen.Write(chunk[:n])
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// text is what the terminal was sent.
func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

func (p *pty) shows(text string) bool { return strings.Contains(p.text(), text) }

// press types a key.
func (p *pty) press(t *testing.T, key byte) {
	t.Helper()
	if _, err := p.master.Write([]byte{key}); err != nil {
		t.Fatal(err)
	}
}

// flags are those of the terminal that a program may change.
func (p *pty) flags(t *testing.T) (flags uint32) {
	t.Helper()
	control(t, p.master, func(fd int) error {
		set, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			flags = set.Lflag
		}
		return err
	})
	return flags
}
