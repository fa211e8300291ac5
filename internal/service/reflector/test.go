package reflector

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/load/peer"
)

// test is one test in progress.
type test struct {
	server  *server
	asked   peer.Test
	threads []*thread
	over    atomic.Bool
	wait    sync.WaitGroup

	origin time.Time   // Go
	before peer.Counts // until Go
}

// places counts the threads of all tests. Such a thread blocks in system calls unknown to the
// Go scheduler, so it needs a processor (P) of its own.
type places struct {
	mu              sync.Mutex
	threads, others int // others: processors without them
}

func (p *places) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.threads == 0 {
		p.others = runtime.GOMAXPROCS(0)
	}
	p.threads += n
	runtime.GOMAXPROCS(p.others + p.threads)
}

// open creates the sockets of a test and starts its threads.
func open(s *server, asked peer.Test, local, remote *net.TCPAddr) (*test, peer.Ready, error) {
	count := s.Threads
	if count == 0 {
		count = min(asked.Flows, runtime.NumCPU())
	}
	t := &test{server: s, asked: asked, origin: time.Now()}
	ready := peer.Ready{Threads: count}
	for i := range count {
		th, err := newThread(t, i)
		if err != nil {
			t.abandon()
			return nil, ready, err
		}
		t.threads = append(t.threads, th)
		if i > 0 && asked.Network == "tcp" && !asked.Fresh {
			continue // the first thread distributes its connections
		}
		if err := th.listen(socketOf{local: local, test: asked, port: ready.Port, shared: count > 1}, &ready); err != nil {
			t.abandon()
			return nil, ready, fmt.Errorf("open a socket for the test: %w", err)
		}
	}
	for _, th := range t.threads {
		th.heirs = t.threads
		if asked.Fresh {
			th.heirs = []*thread{th}
		}
		th.alone = !asked.Fresh && asked.Flows <= count
		th.client = host(remote.IP.To16())
	}
	s.places.add(count)
	for _, th := range t.threads {
		t.wait.Go(th.run)
	}
	return t, ready, nil
}

// abandon closes the sockets of a test that never started.
func (t *test) abandon() {
	for _, th := range t.threads {
		th.close()
	}
}

// close ends the threads, which close their sockets.
func (t *test) close() {
	t.over.Store(true)
	t.wait.Wait()
	t.server.places.add(-len(t.threads))
}

func (t *test) reset() {
	t.before = t.total()
	t.origin = time.Now()
}

func (t *test) total() peer.Counts {
	var c peer.Counts
	for _, th := range t.threads {
		k := &th.count
		c.Messages += k.messages.Load()
		c.Bytes += k.bytes.Load()
		c.Missing += k.missing.Load()
		c.Duplicates += k.duplicates.Load()
		c.Reordered += k.reordered.Load()
		if t.asked.Network == "udp" {
			c.Overflows += overflows(th.socket)
		}
		c.Thrown += k.thrown.Load()
		c.Strange += k.strange.Load()
		c.Unsent += k.unsent.Load()
		c.Accepted += k.accepted.Load()
	}
	return c
}

// counts are those since Go.
func (t *test) counts() peer.Counts {
	c, b := t.total(), t.before
	return peer.Counts{
		Elapsed: time.Since(t.origin), Messages: c.Messages - b.Messages, Bytes: c.Bytes - b.Bytes, Missing: c.Missing - b.Missing,
		Duplicates: c.Duplicates - b.Duplicates, Reordered: c.Reordered - b.Reordered, Overflows: c.Overflows - b.Overflows,
		Thrown: c.Thrown - b.Thrown, Strange: c.Strange - b.Strange, Unsent: c.Unsent - b.Unsent, Accepted: c.Accepted - b.Accepted,
	}
}
