package nbd

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// chunkSize is what memory is kept in, in bytes.
const chunkSize = 64 << 10

type chunk struct {
	mu   sync.RWMutex
	data [chunkSize]byte
}

// Memory is a disk in memory, which holds only what was written.
type Memory struct {
	size    int64
	most    int64 // chunks
	chunks  []atomic.Pointer[chunk]
	growing sync.Mutex
	held    int64 // chunks
}

// NewMemory makes a disk of size bytes, of which it holds at most so many at a time: further writes fail with ENOSPC.
func NewMemory(size, most int64) (*Memory, error) {
	if size <= 0 || size > 1<<40 {
		return nil, fmt.Errorf("a disk in memory of %d bytes: from 1 byte to 1 TiB is possible", size)
	}
	return &Memory{size: size, most: (most + chunkSize - 1) / chunkSize, chunks: make([]atomic.Pointer[chunk], (size+chunkSize-1)/chunkSize)}, nil
}

// Size is the number of bytes.
func (m *Memory) Size() int64 { return m.size }

// Close has nothing to do: the memory goes with the disk.
func (m *Memory) Close() error { return nil }

// Try performs every request.
func (m *Memory) Try(r *Request) (bool, error) { return true, m.Do(context.Background(), r) }

// Do performs a request.
func (m *Memory) Do(_ context.Context, r *Request) error {
	if r.Operation == Flush {
		return nil
	}
	for done := int64(0); done < r.Length; {
		i, from := (r.Offset+done)/chunkSize, (r.Offset+done)%chunkSize
		n := min(chunkSize-from, r.Length-done)
		var err error
		switch r.Operation {
		case Read:
			m.read(i, from, r.Data[done:done+n])
		case Write:
			err = m.write(i, from, r.Data[done:done+n])
		default:
			m.zero(i, from, n)
		}
		if err != nil {
			return err
		}
		done += n
	}
	return nil
}

func (m *Memory) read(i, from int64, to []byte) {
	c := m.chunks[i].Load()
	if c == nil {
		clear(to)
		return
	}
	c.mu.RLock()
	copy(to, c.data[from:])
	c.mu.RUnlock()
}

func (m *Memory) write(i, to int64, from []byte) error {
	c := m.chunks[i].Load()
	if c == nil {
		var err error
		if c, err = m.grow(i); err != nil {
			return err
		}
	}
	c.mu.Lock()
	copy(c.data[to:], from)
	c.mu.Unlock()
	return nil
}

// grow counts a chunk once, however many write to it first at the same time.
func (m *Memory) grow(i int64) (*chunk, error) {
	m.growing.Lock()
	defer m.growing.Unlock()
	if c := m.chunks[i].Load(); c != nil {
		return c, nil
	}
	if m.held == m.most {
		return nil, syscall.ENOSPC
	}
	m.held++
	c := new(chunk)
	m.chunks[i].Store(c)
	return c, nil
}

// zero keeps what a chunk holds allocated, so that nobody writes to one that is on its way out.
func (m *Memory) zero(i, from, n int64) {
	if c := m.chunks[i].Load(); c != nil {
		c.mu.Lock()
		clear(c.data[from : from+n])
		c.mu.Unlock()
	}
}

// null is a disk that forgets what is written and reads as zeroes, after a while.
type null struct {
	Bytes   int64
	Latency time.Duration // of each request
}

// Size is the number of bytes.
func (n null) Size() int64 { return n.Bytes }

// Close has nothing to do.
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

// wait is cut short by the end of ctx, which is an error.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return syscall.ESHUTDOWN
	}
}
