package remote

import (
	"io"
	"sync"
)

// mostBacklog is the output of a worker, in bytes, that is buffered for a connection that
// stalls; beyond that the worker blocks.
const mostBacklog = 64 << 20

// backlog buffers output: a load must not stall because the connection to the lab does.
type backlog struct {
	out  io.Writer
	done chan struct{} // closed when drain has ended

	mu    sync.Mutex // guards the fields below
	more  sync.Cond
	data  []byte
	ended bool
	err   error
}

func newBacklog(out io.Writer) *backlog {
	b := &backlog{out: out, done: make(chan struct{})}
	b.more.L = &b.mu
	go b.drain()
	return b
}

// Write never waits while there is room.
func (b *backlog) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) >= mostBacklog && b.err == nil {
		b.more.Wait()
	}
	if b.err != nil {
		return 0, b.err
	}
	b.data = append(b.data, p...)
	b.more.Broadcast()
	return len(p), nil
}

func (b *backlog) drain() {
	defer close(b.done)
	for {
		data := b.next()
		if data == nil {
			return
		}
		if _, err := b.out.Write(data); err != nil {
			b.mu.Lock()
			b.err, b.data = err, nil
			b.more.Broadcast()
			b.mu.Unlock()
			return
		}
	}
}

// next returns all that is buffered, nil after the end.
func (b *backlog) next() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.data) == 0 && !b.ended {
		b.more.Wait()
	}
	data := b.data
	b.data = nil
	b.more.Broadcast()
	if len(data) == 0 {
		return nil
	}
	return data
}

// end waits until all is written, or cannot be.
func (b *backlog) end() error {
	b.mu.Lock()
	b.ended = true
	b.more.Broadcast()
	b.mu.Unlock()
	<-b.done
	return b.err
}
