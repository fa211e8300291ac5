package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/load/peer"
)

// Options are the options of a reflector.
type Options struct {
	Listen  string  `json:"listen"`            // host:port of the control connections; tests use ports of their own
	Threads int     `json:"threads,omitempty"` // threads of a test; 0: one per connection, up to the number of CPUs
	Drop    float64 `json:"drop,omitempty"`    // share of the datagrams to drop
	Seed    uint64  `json:"seed,omitempty"`    // seed of the choice
}

// Line is the options as Serve reads them.
func (o Options) Line() []byte {
	text, err := json.Marshal(o)
	if err != nil {
		return nil // always encodes, except for a Drop that Serve refuses
	}
	return append(text, '\n')
}

// Serve reads Options from in, one line of JSON with optional fields. It listens, prints the
// address on a line of out, and serves until the context ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	o := Options{Listen: "127.0.0.1:0"}
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read options of the reflector: %w", err)
	}
	if !(o.Drop >= 0 && o.Drop <= 1) || o.Threads < 0 || o.Threads > 1024 {
		return fmt.Errorf("options of the reflector: %d threads, %g dropped: must be from 0 to 1024 and from 0 to 1", o.Threads, o.Drop)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("listen for network tests: %w", err)
	}
	if _, err := fmt.Fprintf(out, "%s%s\n", saying, listener.Addr()); err != nil {
		listener.Close() //nolint:errcheck // nobody knows the address
		return fmt.Errorf("print the address of the reflector: %w", err)
	}
	s := &server{Options: o, listener: listener}
	return s.serve(ctx)
}

// saying precedes the address in the output.
const saying = "reflector listens at "

// mostSessions is the maximum number of connected clients.
const mostSessions = 64

type server struct {
	Options
	listener net.Listener
	places   places
	sessions atomic.Int64 // open
	clients  atomic.Int64 // so far
	tests    atomic.Int64
	wait     sync.WaitGroup
}

func (s *server) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.wait.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { s.listener.Close() }) //nolint:errcheck // ends Accept
	defer stop()
	for {
		conn, err := s.listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && pause(ctx) {
				continue // such as too many open files, which may be temporary
			}
			return fmt.Errorf("accept a client: %w", err)
		}
		s.wait.Go(func() { s.talk(ctx, conn) })
	}
}

// pause waits briefly, and reports whether to continue.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(100 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// talk serves one control connection.
func (s *server) talk(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // ends the session
	defer stop()
	defer conn.Close() //nolint:errcheck // the client sees the end either way
	v := &clientSession{server: s, conn: conn}
	defer v.end()
	s.clients.Add(1)
	if s.sessions.Add(1) > mostSessions {
		v.refused = fmt.Errorf("%d clients are connected already", mostSessions)
	}
	defer s.sessions.Add(-1)
	lines := peer.NewLines(conn)
	if lines.Write(peer.Greeting{Plimsoll: peer.Protocol, Version: peer.Version}) != nil {
		return
	}
	for {
		var q peer.Question
		err := lines.Read(&q)
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return
		}
		var a peer.Answer
		if err != nil {
			a.Error = err.Error()
		} else {
			a = v.answer(q)
		}
		if lines.Write(a) != nil || err != nil {
			return
		}
	}
}

// clientSession is a client's session.
type clientSession struct {
	server  *server
	conn    net.Conn
	refused error
	test    *test // nil before one is requested
	usage   usage // at Go
}

func (v *clientSession) end() {
	if v.test != nil {
		v.test.close()
	}
}

func (v *clientSession) answer(q peer.Question) peer.Answer {
	if v.refused != nil {
		return peer.Answer{Error: v.refused.Error()}
	}
	switch {
	case q.Test != nil && v.test == nil:
		ready, err := v.begin(*q.Test)
		if err != nil {
			return peer.Answer{Error: err.Error()}
		}
		return peer.Answer{Ready: &ready}
	case q.Ask == peer.AskStatus:
		s := v.server
		return peer.Answer{Status: &peer.Status{Threads: s.Threads, Drop: s.Drop, Clients: s.clients.Load(), Tests: s.tests.Load()}}
	case q.Test != nil:
		return peer.Answer{Error: "a connection is limited to one test"}
	case v.test == nil:
		return peer.Answer{Error: "no test was requested yet"}
	}
	switch q.Ask {
	case peer.AskGo:
		v.usage = now()
		v.test.reset()
		return peer.Answer{Counts: &peer.Counts{}}
	case peer.AskCounts:
		c := v.test.counts()
		return peer.Answer{Counts: &c}
	case peer.AskReport:
		r := peer.Report{Counts: v.test.counts()}
		now().since(v.usage, &r)
		return peer.Answer{Report: &r}
	}
	return peer.Answer{Error: fmt.Sprintf("unknown request %q", q.Ask)}
}

func (v *clientSession) begin(t peer.Test) (peer.Ready, error) {
	if err := t.Check(); err != nil {
		return peer.Ready{}, err
	}
	local, _ := v.conn.LocalAddr().(*net.TCPAddr)
	remote, _ := v.conn.RemoteAddr().(*net.TCPAddr)
	if local == nil || remote == nil {
		return peer.Ready{}, errors.New("tests require clients over TCP")
	}
	test, ready, err := open(v.server, t, local, remote)
	if err != nil {
		return peer.Ready{}, err
	}
	v.test = test
	v.usage = now()
	v.server.tests.Add(1)
	return ready, nil
}
