package fabric

import (
	"bytes"
	"path"
	"sync"
	"testing"
)

// memoryBus carries messages in memory, in order, and loses those that lose picks.
type memoryBus struct {
	mu     sync.Mutex
	subs   []subscription
	lose   func(subject string) bool
	closed chan struct{}
}

type subscription struct {
	pattern string
	f       func(string, []byte)
}

func newMemoryBus() *memoryBus { return &memoryBus{closed: make(chan struct{})} }

func (b *memoryBus) publish(subject string, data []byte) error {
	b.mu.Lock()
	lost := b.lose != nil && b.lose(subject)
	subs := b.subs
	b.mu.Unlock()
	for _, s := range subs {
		if ok, _ := path.Match(s.pattern, subject); ok && !lost {
			s.f(subject, bytes.Clone(data))
		}
	}
	return nil
}

func (b *memoryBus) subscribe(subject string, f func(string, []byte)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = append(b.subs, subscription{subject, f})
	return nil
}

func (b *memoryBus) dead() <-chan struct{} { return b.closed }
func (b *memoryBus) close() error          { return nil }

// quietLab is a lab that nothing reaches but what a test hands to it.
func quietLab(t testing.TB) *Lab {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLab(LabOptions{Endpoint: Endpoint{Key: key}, Allowed: func(string) bool { return true }}, newMemoryBus())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func mustSession(t testing.TB) *session {
	_, lab, _, _ := pairOf(t)
	return lab
}
