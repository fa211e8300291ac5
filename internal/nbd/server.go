package nbd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// Export is a disk that a server offers.
type Export struct {
	Name     string // "" is the default export
	Device   Device
	ReadOnly bool
}

func (e *Export) flags() uint16 {
	const f = exportFlags | exportFlush | exportFUA | exportMulti
	if e.ReadOnly {
		return f | exportReadOnly
	}
	return f | exportTrim | exportZero
}

// Server serves exports. Its fields must not change while it serves.
type Server struct {
	Exports []Export

	once    sync.Once
	budget  *budget
	clients atomic.Int64
}

// mostMemory limits the bytes of requests in flight, over all connections. A client that
// stalls within a write holds the bytes of that write.
const mostMemory = 2 * longestData

// mostWaiting is the maximum number of concurrent requests of one connection, besides those
// that do not block.
const mostWaiting = 128

// Serve accepts connections until ctx ends. It closes the listener, and returns when all
// connections have ended.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept an NBD client: %w", err)
		}
		clients.Go(func() { _ = s.ServeConn(ctx, conn) }) // the client is told the reason
	}
}

// budget is a pool of bytes.
type budget struct {
	mu   sync.Mutex
	more sync.Cond
	left int64
}

func newBudget(bytes int64) *budget {
	b := &budget{left: bytes}
	b.more.L = &b.mu
	return b
}

// take waits until n bytes are available.
func (b *budget) take(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.left < n {
		b.more.Wait()
	}
	b.left -= n
}

func (b *budget) give(n int64) {
	b.mu.Lock()
	b.left += n
	b.mu.Unlock()
	b.more.Broadcast()
}
