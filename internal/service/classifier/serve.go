package classifier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/load"
)

// Serve is the server process: it reads its configuration from in, prints one line of JSON to
// out when it listens, and serves until the context ends or an engine fails. It sets GOMAXPROCS,
// so the process must be its own.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	m, err := o.open()
	if err != nil {
		return err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.processors()))
	s := &server{order: o, model: m, over: make(chan struct{}), queue: make(chan *job, queued*o.Threads), conns: map[net.Conn]bool{}}
	few := ahead * o.Threads * max(o.Batch, answered)
	s.valve = newValve(few, few+together, func() int { return len(s.queue) })
	if err := s.startEngines(ctx); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), "0"))
	if err != nil {
		s.closeEngines()
		return fmt.Errorf("listen for images: %w", err)
	}
	line, err := json.Marshal(greeting{listener.Addr().String()})
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", line)
	}
	if err != nil {
		listener.Close() //nolint:errcheck // nobody knows of it
		s.closeEngines()
		return fmt.Errorf("print the address of the server: %w", err)
	}
	return s.serve(ctx, listener)
}

// open reads the model that was ordered.
func (o order) open() (model, error) {
	n, err := parseModel(o.Model)
	if err != nil {
		return model{}, err
	}
	data := small
	if o.File != "" {
		if data, err = os.ReadFile(o.File); err != nil {
			return model{}, fmt.Errorf("read model %s: %w", n.name, err)
		}
	}
	m, err := n.open(data)
	if err == nil {
		err = m.fits(Settings{Engine: o.Engine, Batch: o.Batch})
	}
	return m, err
}

// processors is how many processors the runtime of Go gets. Engines that are processes need little
// of it: with a processor that is idle, its threads would look for work for longer than they have any.
func (o order) processors() int {
	if o.Engine == goEngine {
		return o.Threads + 1
	}
	return (o.Threads + 1) / 2
}

const (
	queued  = 64  // images that wait for an engine; more wait in their connection
	ordered = 256 // images of a connection that wait for their answer

	together = 4 // images that connections leave unread, to read them at once
)

// server is what the connections share.
type server struct {
	order   order
	model   model
	engines []engine
	queue   chan *job
	valve   *valve // of the queue
	counts  counts

	over chan struct{} // closed when no image is computed any more
	end  sync.Once
	why  error // of the end; before over is closed

	mu     sync.Mutex
	conns  map[net.Conn]bool // nil: no new ones
	done   sync.WaitGroup    // connections
	work   sync.WaitGroup    // the dispatcher and its workers
	logged atomic.Int64
}

// counts are totals since the start.
type counts struct {
	images, correct, refused, batches, connections, received atomic.Int64
	streamed, streamedCorrect, streamedBytes                 atomic.Int64 // of connections without answers
}

// job is an image on its way.
type job struct {
	numbers []float32
	label   byte
	class   byte
	bytes   int
	done    chan struct{} // gets a value when the class is known
	refusal string        // in place of an image
}

func (s *server) startEngines(ctx context.Context) error {
	for range s.order.Threads {
		e, err := s.newEngine(ctx)
		if err != nil {
			s.closeEngines()
			return err
		}
		s.engines = append(s.engines, e)
	}
	return nil
}

func (s *server) newEngine(ctx context.Context) (engine, error) {
	if s.order.Engine == goEngine {
		return newOwn(s.model)
	}
	return newRuntime(ctx, s.order, s.model)
}

func (s *server) closeEngines() {
	for _, e := range s.engines {
		e.close()
	}
}

// stop ends the server, for a reason or none.
func (s *server) stop(why error) {
	s.end.Do(func() {
		s.why = why
		close(s.over)
	})
}

func (s *server) serve(ctx context.Context, l net.Listener) error {
	s.work.Go(s.dispatch)
	defer context.AfterFunc(ctx, func() { s.stop(nil) })()
	go func() {
		<-s.over
		s.valve.end()
		l.Close() //nolint:errcheck // no connection is accepted any more
		s.mu.Lock()
		for c := range s.conns {
			c.Close() //nolint:errcheck // its client sees the end
		}
		s.conns = nil
		s.mu.Unlock()
		s.closeEngines()
	}()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil {
			<-time.After(10 * time.Millisecond) // out of file descriptors, which may pass
			continue
		}
		s.accept(c.(*net.TCPConn))
	}
	s.done.Wait()
	s.work.Wait()
	return s.why
}

func (s *server) accept(c *net.TCPConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		c.Close() //nolint:errcheck // its client sees the end
		return
	}
	s.conns[c] = true
	s.counts.connections.Add(1)
	s.done.Go(func() {
		s.converse(c)
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		c.Close() //nolint:errcheck // all was sent
	})
}

// mostLogged bounds the log, in case a client sends nonsense repeatedly.
const mostLogged = 100

// refuse counts and logs an image that cannot be read.
func (s *server) refuse(c net.Conn, why string) {
	s.counts.refused.Add(1)
	if s.logged.Add(1) <= mostLogged {
		fmt.Fprintf(os.Stderr, "connection from %s: %s\n", c.RemoteAddr(), why)
	}
}

// tell answers a question.
func (s *server) tell(about images.Question) any {
	switch about {
	case images.Settings:
		return map[string]string{
			"engine": s.order.Engine, "model": s.model.setting(),
			"threads": strconv.Itoa(len(s.engines)), "batch": strconv.Itoa(s.order.Batch),
		}
	case images.Streams:
		return images.Stream{Images: s.counts.streamed.Load(), Correct: s.counts.streamedCorrect.Load(), Bytes: s.counts.streamedBytes.Load()}
	}
	own, infer := load.ProcessCPU(), time.Duration(0)
	total := own
	for _, e := range s.engines {
		infer += e.cpu()
		if !e.inside() {
			total += e.cpu()
		}
	}
	return map[string]float64{
		"classifier.images": float64(s.counts.images.Load()), "classifier.correct": float64(s.counts.correct.Load()),
		"classifier.refused": float64(s.counts.refused.Load()), "classifier.batches": float64(s.counts.batches.Load()),
		"classifier.connections": float64(s.counts.connections.Load()), "classifier.received": float64(s.counts.received.Load()),
		"classifier.cpu": total.Seconds(), "classifier.infer.cpu": infer.Seconds(), "classifier.parse.cpu": max(0, total-infer).Seconds(),
	}
}
