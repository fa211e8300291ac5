package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a reflector may take to answer.
const patience = 10 * time.Second

// Session is the client's side of a control connection. It is used by one
// goroutine.
type Session struct {
	conn    net.Conn
	lines   *Lines
	asked   atomic.Bool // a query is pending
	answers chan Answer // to the pending query
	gone    chan struct{}
	err     error // why it is gone; read it after gone is closed
	wait    sync.WaitGroup
}

// Greet begins a session on a connection, which it closes when it fails.
func Greet(ctx context.Context, conn net.Conn) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s := &Session{conn: conn, lines: NewLines(conn), answers: make(chan Answer, 1), gone: make(chan struct{})}
	if err := s.greet(ctx); err != nil {
		conn.Close() //nolint:errcheck // the error that matters is the greeting's
		return nil, fmt.Errorf("handshake with the reflector at %s: %w", conn.RemoteAddr(), err)
	}
	s.wait.Go(s.listen)
	return s, nil
}

func (s *Session) greet(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // of an open socket
	var g Greeting
	err := s.lines.Read(&g)
	if !stop() || ctx.Err() != nil {
		return fmt.Errorf("no answer: %w", ctx.Err())
	}
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: connection closed by the reflector", errNotOurs)
	}
	if err != nil {
		return err
	}
	if g.Plimsoll != Protocol || g.Version != Version {
		return fmt.Errorf("it speaks %q version %d, this is %q version %d: use the same version of plimsoll on both sides", g.Plimsoll, g.Version, Protocol, Version)
	}
	return nil
}

// listen receives responses until the connection ends.
func (s *Session) listen() {
	defer close(s.gone)
	for {
		var a Answer
		if err := s.lines.Read(&a); err != nil {
			s.err = err
			return
		}
		if !s.asked.Swap(false) {
			s.err = fmt.Errorf("%w: unsolicited response", errNotOurs)
			return
		}
		select {
		case s.answers <- a:
		default: // the response came after its query had timed out
			s.err = fmt.Errorf("%w: late response", errNotOurs)
			return
		}
	}
}

// Gone is closed when the reflector has ended the connection.
func (s *Session) Gone() <-chan struct{} { return s.gone }

// Err is why the reflector is gone.
func (s *Session) Err() error {
	if errors.Is(s.err, io.EOF) {
		return errors.New("the reflector exited: see its log")
	}
	return fmt.Errorf("the reflector is gone: %w", s.err)
}

func (s *Session) ask(ctx context.Context, q Question) (Answer, error) {
	if err := s.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return Answer{}, err
	}
	s.asked.Store(true)
	if err := s.lines.Write(q); err != nil {
		select {
		case <-s.gone: // is more specific than a broken pipe
			return Answer{}, s.Err()
		default:
			return Answer{}, fmt.Errorf("query the reflector: %w", err)
		}
	}
	return s.answer(ctx)
}

func (s *Session) answer(ctx context.Context) (Answer, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case a := <-s.answers:
		return a, refusal(a)
	case <-s.gone:
		select {
		case a := <-s.answers: // it came before the connection ended
			return a, refusal(a)
		default:
			return Answer{}, s.Err()
		}
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	case <-timer.C:
		return Answer{}, fmt.Errorf("no response from the reflector for %s", patience)
	}
}

func refusal(a Answer) error {
	if a.Error == "" {
		return nil
	}
	return fmt.Errorf("the reflector refused: %s", a.Error)
}

var errOther = fmt.Errorf("%w: unexpected response", errNotOurs)

// query sends a request, and returns the matching part of the response.
func query[T any](ctx context.Context, s *Session, q Question, part func(Answer) *T) (value T, err error) {
	a, err := s.ask(ctx, q)
	if err != nil {
		return value, err
	}
	if found := part(a); found != nil {
		return *found, nil
	}
	return value, errOther
}

// Prepare names the test, and returns where its data goes.
func (s *Session) Prepare(ctx context.Context, t Test) (Ready, error) {
	r, err := query(ctx, s, Question{Test: &t}, func(a Answer) *Ready { return a.Ready })
	if err == nil && (r.Port < 1 || r.Port > 65535) {
		return Ready{}, errOther
	}
	return r, err
}

// Go sets the reflector's clock and counts to zero.
func (s *Session) Go(ctx context.Context) error {
	_, err := s.counts(ctx, AskGo)
	return err
}

// Counts queries the counts so far.
func (s *Session) Counts(ctx context.Context) (Counts, error) { return s.counts(ctx, AskCounts) }

func (s *Session) counts(ctx context.Context, what Ask) (Counts, error) {
	return query(ctx, s, Question{Ask: what}, func(a Answer) *Counts { return a.Counts })
}

// Report queries the results of the test.
func (s *Session) Report(ctx context.Context) (Report, error) {
	return query(ctx, s, Question{Ask: AskReport}, func(a Answer) *Report { return a.Report })
}

// Status queries the options of the reflector.
func (s *Session) Status(ctx context.Context) (Status, error) {
	return query(ctx, s, Question{Ask: AskStatus}, func(a Answer) *Status { return a.Status })
}

// At is the address of a port on the reflector's host.
func (s *Session) At(port int) string {
	host, _, err := net.SplitHostPort(s.conn.RemoteAddr().String())
	if err != nil {
		host = "localhost"
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}

// Close ends the test and the connection.
func (s *Session) Close() error {
	err := s.conn.Close()
	s.wait.Wait()
	return err
}
