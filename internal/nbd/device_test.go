package nbd

import (
	"context"
	"sync"
	"syscall"
	"time"
)

// Memory is a disk in memory. Writes beyond what it holds fail with ENOSPC.
type Memory struct {
	size int64
	mu   sync.RWMutex
	data []byte
}

func newMemory(size, most int64) *Memory { return &Memory{size: size, data: make([]byte, most)} }

// Size is the number of bytes.
func (m *Memory) Size() int64 { return m.size }

// Close does nothing.
func (m *Memory) Close() error { return nil }

// Try performs every request.
func (m *Memory) Try(r *Request) (bool, error) { return true, m.Do(context.Background(), r) }

// Do performs a request.
func (m *Memory) Do(_ context.Context, r *Request) error {
	if r.Operation == Flush {
		return nil
	}
	if r.Operation == Read {
		m.mu.RLock()
		defer m.mu.RUnlock()
		copy(r.Data, m.data[r.Offset:])
		return nil
	}
	if r.Offset+r.Length > int64(len(m.data)) {
		return syscall.ENOSPC
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Operation == Write {
		copy(m.data[r.Offset:], r.Data)
		return nil
	}
	clear(m.data[r.Offset:][:r.Length])
	return nil
}

// null is a disk that drops writes and reads as zeroes, after a while.
type null struct {
	Bytes   int64
	Latency time.Duration // of each request
}

// Size is the number of bytes.
func (n null) Size() int64 { return n.Bytes }

// Close does nothing.
func (n null) Close() error { return nil }

// Try performs every request where there is no latency.
func (n null) Try(r *Request) (bool, error) {
	if n.Latency > 0 {
		return false, nil
	}
	return true, n.Do(context.Background(), r)
}

// Do performs a request.
func (n null) Do(ctx context.Context, r *Request) error {
	if r.Operation == Read {
		clear(r.Data)
	}
	return wait(ctx, n.Latency)
}
