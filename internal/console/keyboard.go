package console

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const ctrlC = 3

// keyboard reads keys from the controlling terminal. While it is open Ctrl-C sends no signal:
// a signal can come from any process, a key only from the user.
type keyboard struct {
	tty     *os.File
	former  unix.Termios
	pressed chan struct{}
	once    sync.Once
}

// attended reports whether the user sees the output on a terminal, and no other program reads
// its keys.
func attended(out, errors io.Writer) bool {
	seen, ok := fileOf(errors)
	return ok && foreground(seen) && !piped(out)
}

// openKeyboard opens the terminal; nil if there is none.
func openKeyboard() *keyboard {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	former, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		tty.Close()
		return nil
	}
	k := &keyboard{tty: tty, former: *former, pressed: make(chan struct{})}
	keys := *former
	keys.Lflag &^= unix.ISIG | unix.ICANON | unix.ECHO
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 0, 1 // a read times out after a tenth of a second
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, &keys); err != nil {
		tty.Close()
		return nil
	}
	go k.read()
	return k
}

// foreground reports whether a file is the controlling terminal, with this process in the
// foreground.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// piped reports whether another program may use the terminal as well, such as a pager.
func piped(w io.Writer) bool {
	f, ok := fileOf(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// calm is the time in which a repeated Ctrl-C counts as one: the user cannot have read the
// message yet.
const calm = time.Second

func (k *keyboard) read() {
	key, opened := make([]byte, 64), time.Now()
	for {
		n, err := k.tty.Read(key)
		if bytes.IndexByte(key[:n], ctrlC) >= 0 && time.Since(opened) > calm {
			close(k.pressed)
			return
		}
		if err != nil && err != io.EOF { // closed, or the terminal is gone
			return
		}
	}
}

// interrupted is closed when Ctrl-C is typed.
func (k *keyboard) interrupted() <-chan struct{} {
	if k == nil {
		return nil
	}
	return k.pressed
}

// close restores the terminal's settings.
func (k *keyboard) close() {
	if k == nil {
		return
	}
	k.once.Do(func() {
		// From the background SIGTTOU would stop the program.
		if !signal.Ignored(syscall.SIGTTOU) {
			signal.Ignore(syscall.SIGTTOU)
			defer signal.Reset(syscall.SIGTTOU)
		}
		_ = unix.IoctlSetTermios(int(k.tty.Fd()), unix.TCSETS, &k.former) // it may be gone
		k.tty.Close()
	})
}
