// Package console is standard output and standard error of a program that changes hosts, and
// its orderly shutdown: foreign text is escaped, output to a closed reader is dropped, and no
// signal ends the program before it has restored its changes.
package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/charset"
	"plimsoll/internal/escape"
)

// Writer writes text to a possible terminal. Control characters and escape sequences are
// escaped. After the first failure the rest is dropped, and no write returns an error:
// restoring changes is more important.
type Writer struct {
	to      io.Writer
	file    bool          // a regular file, which has no reader to wait for
	mu      sync.Mutex    // held during a write
	failed  error         // of the first write that failed
	closed  chan struct{} // closed when the reader is gone
	bounded chan struct{} // closed when writes must not block
	last    time.Duration // how long a write may wait after that
	once    sync.Once
	texts   chan string
	wrote   chan error
}

// lastWait is the longest time that a blocked reader may delay the end of the program.
const lastWait = time.Second

// NewWriter returns a writer of text to another, such as a file.
func NewWriter(to io.Writer) *Writer {
	w := &Writer{to: to, file: regular(to), closed: make(chan struct{}), bounded: make(chan struct{}), last: lastWait, texts: make(chan string), wrote: make(chan error)}
	go func() { // for the life of the program
		for text := range w.texts {
			_, err := io.WriteString(to, text)
			w.wrote <- err
		}
	}()
	return w
}

func regular(to io.Writer) bool {
	f, ok := to.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// BoundWrites bounds all writes, also one in progress, except to a file: a reader who has stopped
// reading must not keep the program from ending.
func (w *Writer) BoundWrites() { w.once.Do(func() { close(w.bounded) }) }

// Write writes text. It always succeeds.
func (w *Writer) Write(p []byte) (int, error) {
	w.put(escape.Text(string(p)))
	return len(p), nil
}

// cutColour cuts a text around the first sequence that Coloured lets pass: colours, bold, faint and
// their end. Without one, all is before it.
func cutColour(text string) (before, colour, after string) {
	const begin = "\x1b["
	for from := 0; ; {
		at := strings.Index(text[from:], begin)
		if at < 0 {
			return text, "", ""
		}
		at += from
		from = at + len(begin)
		if rest := strings.TrimLeft(text[from:], charset.Digits+";"); strings.HasPrefix(rest, "m") {
			end := len(text) - len(rest) + 1
			return text[:at], text[at:end], text[end:]
		}
	}
}

// Coloured is the writer for text with our own colours, in which foreign text was escaped
// before.
func (w *Writer) Coloured() io.Writer { return coloured{w} }

type coloured struct{ w *Writer }

func (c coloured) Write(p []byte) (int, error) {
	var out strings.Builder
	for text := string(p); text != ""; {
		before, colour, after := cutColour(text)
		out.WriteString(escape.Text(before) + colour)
		text = after
	}
	c.w.put(out.String())
	return len(p), nil
}

// Raw is the writer for data for programs: nothing is escaped.
func (w *Writer) Raw() io.Writer { return raw{w} }

type raw struct{ w *Writer }

func (r raw) Write(p []byte) (int, error) {
	r.w.put(string(p))
	return len(p), nil
}

// Renew replaces the last line of a terminal, without ending it.
func (w *Writer) Renew(line string) { w.put("\r\x1b[K" + escape.Line(line)) }

// File is the file that is written to; nil if there is none.
func (w *Writer) File() *os.File {
	f, _ := w.to.(*os.File)
	return f
}

// fileOf is the file behind a writer, if there is one.
func fileOf(w io.Writer) (*os.File, bool) {
	if out, ok := w.(*Writer); ok {
		w = out.to
	}
	f, ok := w.(*os.File)
	return f, ok
}

// Failed is why output was dropped: nil if none was, or if its reader went away.
func (w *Writer) Failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil || gone(w.failed) {
		return nil
	}
	return fmt.Errorf("write output: %w", w.failed)
}

// dropped reports whether output was dropped.
func (w *Writer) dropped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed != nil
}

// Closed is closed when the reader is gone.
func (w *Writer) Closed() <-chan struct{} { return w.closed }

// Abandoned is closed once the reader of a pipe is gone, also while nothing is written. It is nil where there is
// no file.
func (w *Writer) Abandoned() <-chan struct{} {
	f := w.File()
	if f == nil {
		return nil
	}
	gone := make(chan struct{})
	go func() { // for as long as the program lives
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd())}}, -1)
			if n > 0 {
				close(gone)
			}
			if n > 0 || !errors.Is(err, unix.EINTR) {
				return
			}
		}
	}()
	return gone
}

func (w *Writer) put(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return
	}
	w.texts <- text
	if w.failed = w.written(); w.failed != nil && gone(w.failed) {
		close(w.closed)
	}
}

// written is the error of a write.
func (w *Writer) written() error {
	if w.file {
		return <-w.wrote
	}
	select {
	case err := <-w.wrote:
		return err
	case <-w.bounded:
	}
	timer := time.NewTimer(w.last)
	defer timer.Stop()
	select {
	case err := <-w.wrote:
		return err
	case <-timer.C:
		return errStuck
	}
}

var errStuck = errors.New("nobody reads")

// gone reports whether an error of a write means that the reader is gone: of a pipe, a socket
// or a terminal.
func gone(err error) bool {
	for _, e := range []error{syscall.EPIPE, syscall.ECONNRESET, unix.EIO, os.ErrClosed, errStuck} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
