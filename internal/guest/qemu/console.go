package qemu

import (
	"bytes"
	"fmt"
	"sync"
)

const (
	keptHead = 64 << 10
	keptTail = 192 << 10
)

// log keeps the head and the tail of its input.
type log struct {
	mu         sync.Mutex
	head, tail []byte
	dropped    int64
	started    chan struct{} // closed at the first byte; nil if unused
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.started != nil && len(p) > 0 {
		close(l.started)
		l.started = nil
	}
	n := len(p)
	k := min(n, keptHead-len(l.head))
	l.head, p = append(l.head, p[:k]...), p[k:]
	l.tail = append(l.tail, p...)
	if extra := len(l.tail) - keptTail; extra > keptTail/4 {
		l.tail = append(l.tail[:0], l.tail[extra:]...)
		l.dropped += int64(extra)
	}
	return n, nil
}

// bytes is the kept input, with a line for the number of bytes dropped.
func (l *log) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := bytes.Clone(l.head)
	if l.dropped > 0 {
		all = fmt.Appendf(all, "\n[%d bytes are left out here]\n", l.dropped)
	}
	return append(all, l.tail...)
}

// lastLines are the last lines, for an error.
func (l *log) lastLines(most int) string {
	lines := bytes.Split(bytes.TrimSpace(l.bytes()), []byte("\n"))
	return string(bytes.TrimSpace(bytes.Join(lines[max(0, len(lines)-most):], []byte("\n"))))
}

// complaints keeps QEMU's standard error. TCG's warnings about missing CPU features, some 25
// lines per vCPU, are only counted.
type complaints struct {
	log
	partial []byte
	missing int
}

var unsupported = []byte("TCG doesn't support requested feature")

const longestComplaint = 8 << 10

func (c *complaints) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		c.partial, p = append(c.partial, line...), rest
		if whole || len(c.partial) > longestComplaint {
			c.flush()
		}
	}
	return n, nil
}

func (c *complaints) flush() {
	line := c.partial
	c.partial = nil
	if bytes.Contains(line, unsupported) {
		c.mu.Lock()
		c.missing++
		c.mu.Unlock()
		return
	}
	_, _ = c.log.Write(append(line, '\n')) // writing to memory does not fail
}

func (c *complaints) features() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.missing
}
