package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"plimsoll/internal/load"
)

// streams carries out visits over HTTP/2, by way of net/http: the objects of a visit
// at the same time, on one of a number of connections that callers share.
type streams struct {
	*tour
	connector
	calls  [][]*http.Request // of each visit
	ledger *ledger

	mu    sync.Mutex // guards who is on which lane
	lanes []*lane
}

// newStreams readies the requests, and room for connections. It makes none.
func (w *web) newStreams(t *tour, c connector, l *ledger) (*streams, error) {
	s := &streams{tour: t, connector: c, ledger: l}
	for range w.Connections {
		s.lanes = append(s.lanes, &lane{connector: c, reuse: t.reuse, making: make(chan struct{}, 1)})
	}
	for _, v := range t.visits {
		var calls []*http.Request
		for _, path := range v.paths {
			request, err := http.NewRequest(w.Method, c.scheme+"://"+c.authority+path, nil)
			if err != nil {
				return nil, fmt.Errorf("the path %s: %w", path, err)
			}
			for _, f := range w.header(c.authority) {
				if strings.EqualFold(f.name, "Host") {
					request.Host = f.value
					continue
				}
				request.Header.Add(f.name, f.value)
			}
			calls = append(calls, request)
		}
		s.calls = append(s.calls, calls)
	}
	return s, nil
}

// caller makes one more user, on the lane that has the fewest, and its connection.
func (s *streams) caller(ctx context.Context, seed uint64, number int) (load.Caller, error) {
	c := &caller{streams: s, lane: s.join(), source: *rand.NewPCG(seed, uint64(number)^0x77656232), sheet: s.ledger.sheet(number)}
	if s.reuse == 1 {
		return c, nil // each visit makes its own
	}
	l, err := c.lane.take(ctx, 0)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.lane.leave(l)
	return c, nil
}

func (s *streams) join() *lane {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := s.lanes[0]
	for _, l := range s.lanes {
		if l.users < least.users {
			least = l
		}
	}
	least.users++
	return least
}

// close closes all connections.
func (s *streams) close() {
	for _, l := range s.lanes {
		l.close()
	}
}

// caller is one user of HTTP/2.
type caller struct {
	*streams
	lane   *lane
	source rand.PCG
	sheet  *sheet
}

// Close makes room for another user.
func (c *caller) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lane.users--
	return nil
}

// outcome is what became of one request.
type outcome struct {
	status int
	bytes  int64
	err    error
}

// Call does one visit, and waits for all of its answers.
func (c *caller) Call(ctx context.Context) (class int, bytes int64, err error) {
	calls := c.calls[c.choose(&c.source)]
	l, err := c.lane.take(ctx, len(calls))
	if err != nil {
		return 0, 0, err
	}
	defer c.lane.leave(l)
	ended := make(chan outcome, len(calls))
	for _, request := range calls[1:] {
		go func() { ended <- c.fetch(ctx, l, request) }()
	}
	ended <- c.fetch(ctx, l, calls[0])
	for range calls {
		o := <-ended
		bytes += o.bytes
		if o.status > 0 {
			c.sheet.note(o.status)
		}
		if o.err == nil && !c.expected[o.status] {
			o.err = unexpected(o.status)
		}
		if err == nil {
			err = o.err
		}
	}
	return 0, bytes, err
}

// mostMoves is how often a request goes to another connection: on a busy machine the next one may
// close before the server looks at it, too.
const mostMoves = 5

// fetch makes one request. A server that is about to close a connection says which
// requests it has not looked at (GOAWAY): those go to the next.
func (c *caller) fetch(ctx context.Context, l *link, request *http.Request) outcome {
	o := perform(l.conn, request.WithContext(ctx))
	for range mostMoves {
		if o.err == nil || !unseen(o.err) || c.reuse == 1 {
			break
		}
		c.lane.retire(l)
		next, err := c.lane.take(ctx, 1)
		if err != nil {
			return outcome{err: err}
		}
		defer c.lane.leave(next)
		o = perform(next.conn, request.WithContext(ctx))
		l = next
	}
	return o
}

func perform(conn *http.ClientConn, request *http.Request) (o outcome) {
	answer, err := conn.RoundTrip(request)
	if err != nil {
		return outcome{err: err}
	}
	defer answer.Body.Close()
	if answer.ProtoMajor != 2 {
		return outcome{err: errors.New("it answers in " + answer.Proto)}
	}
	o.status = answer.StatusCode
	o.bytes, o.err = io.Copy(io.Discard, answer.Body)
	return o
}

// unseen reports whether a request failed because the server did not look at it. The
// library has no other name for these errors than their texts.
func unseen(err error) bool {
	text := err.Error()
	return strings.Contains(text, "graceful shutdown GOAWAY") || strings.Contains(text, "client conn not usable")
}
