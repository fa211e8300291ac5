package service

import (
	"bytes"
	"sync"
)

// Line is the first line of what a daemon prints, by which it says where it listens.
type Line struct {
	mu   sync.Mutex
	data []byte
}

// Write takes in output. Behind the first line it is dropped.
func (l *Line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !bytes.Contains(l.data, []byte("\n")) {
		l.data = append(l.data, p...)
	}
	return len(p), nil
}

// Text is the line without its end; ok is false while it is incomplete.
func (l *Line) Text() (text []byte, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, _, ok = bytes.Cut(l.data, []byte("\n"))
	return text, ok
}
