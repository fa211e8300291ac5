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

// keyboard reads what is typed at the terminal of the program. While it is open Ctrl-C
// sends no signal: a signal can come from anywhere, a key cannot.
type keyboard struct {
	tty     *os.File
	former  unix.Termios
	pressed chan struct{}
	once    sync.Once
}

// attended says that the user sees what the program says on a terminal, and that no other
// program reads its keys.
func attended(out, errors io.Writer) bool {
	seen, ok := fileOf(errors)
	return ok && foreground(seen) && !piped(out)
}

// openKeyboard reads the keys of the terminal; nil where there is none.
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
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME] = 0, 1 // a read ends after a tenth of a second
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, &keys); err != nil {
		tty.Close()
		return nil
	}
	go k.read()
	return k
}

// foreground says that a file is the terminal of this process, and that it has the keyboard.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// piped says that another program may be at the terminal as well, to show what is printed.
func piped(w io.Writer) bool {
	f, ok := fileOf(w)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// calm is how long a Ctrl-C is taken for the end of the one before: nobody has read by then
// what the program said.
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

// interrupted is closed once Ctrl-C was typed.
func (k *keyboard) interrupted() <-chan struct{} {
	if k == nil {
		return nil
	}
	return k.pressed
}

// close gives the terminal back as it was.
func (k *keyboard) close() {
	if k == nil {
		return
	}
	k.once.Do(func() {
		// From the background that would stop the program.
		if !signal.Ignored(syscall.SIGTTOU) {
			signal.Ignore(syscall.SIGTTOU)
			defer signal.Reset(syscall.SIGTTOU)
		}
		_ = unix.IoctlSetTermios(int(k.tty.Fd()), unix.TCSETS, &k.former) // it may be gone
		k.tty.Close()
	})
}
