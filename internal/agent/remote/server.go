package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/platform"
)

// Server is the far side of connections.
type Server struct {
	Machine platform.Machine // the machine served
	Version string           // of the build; said to the lab
	// Restore, if set, is called when a connection has ended and nothing runs any
	// more, and when the lab releases a claim: it puts back what the lab had changed.
	Restore func(ctx context.Context) error
	Now     func() time.Time // the machine's clock; nil is the system's
	Beat    time.Duration    // between two signs of life; 0 is a second
	Silence time.Duration    // after which the lab counts as gone; 0 is ten seconds
}

// Serve obeys the lab at the other end until the connection ends, and closes it.
// Then it has ended what it had started, freed the workers and called Restore. It
// returns nil when the lab closed the session, and why the connection ended
// otherwise, io.EOF wrapped when the lab closed it.
func (s Server) Serve(ctx context.Context, conn io.ReadWriteCloser) error {
	l := newLink(ctx, conn, s.Beat, s.Silence)
	defer l.end(nil)
	x := &session{link: l, machine: s.Machine, now: s.Now, restore: s.Restore, calls: map[uint32]*served{}}
	if x.now == nil {
		x.now = time.Now
	}
	if err := x.greet(s.Version); err != nil {
		return err
	}
	err := l.live(x.take)
	if errors.Is(err, errOver) {
		err = nil
	} else {
		err = fmt.Errorf("the connection to the lab ended: %w", err)
	}
	return errors.Join(err, x.finish())
}

// session is one connection on the far side.
type session struct {
	link    *link
	machine platform.Machine
	now     func() time.Time
	restore func(ctx context.Context) error // may be nil
	id      string
	desk    claims

	last    uint32 // the highest call so far
	tunnels atomic.Int64
	running sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	calls map[uint32]*served
}

func (x *session) greet(version string) error {
	f, err := seekHello(x.link.in)
	if err != nil {
		x.link.end(err)
		return fmt.Errorf("wait for a lab: %w", context.Cause(x.link.ctx))
	}
	var lab hello
	if err := decode(f, &lab); err != nil {
		return err
	}
	x.id = lab.Session
	own := hello{Protocol: Protocol, Version: version, Session: lab.Session, Machine: x.machine.Name()}
	_, own.Abilities.Carrier = x.machine.(platform.Carrier)
	_, own.Abilities.Observer = x.machine.(platform.Observer)
	_, own.Abilities.Dialer = x.machine.(platform.Dialer)
	_, claims := x.machine.(platform.Claimer)
	own.Abilities.Claimer = claims && x.restore != nil
	if c, ok := x.machine.(platform.Confiner); ok {
		own.Abilities.Confiner, own.Confinement = true, c.Confinement()
	}
	// A response even if the protocols differ: the lab can then report it.
	if err := x.link.sendJSON(kindHello, 0, own); err != nil {
		return err
	}
	return lab.check(version, lab.Version)
}

// mostCalls limits the concurrent calls of a lab.
const mostCalls = 512

// take obeys one frame. Calls that have ended may still get some: they cross the
// result on the way.
func (x *session) take(f frame) error {
	switch f.kind {
	case kindBeat:
		return nil
	case kindOver:
		return errOver
	case kindHello:
		var again hello
		if err := decode(f, &again); err != nil {
			return err
		}
		if again.Session != x.id {
			return errors.New("another lab has taken over the connection")
		}
		return nil // it was sent again before the first one was answered
	case kindCall:
		return x.begin(f)
	}
	if f.call > x.last {
		return malformed("kind %d for call %d, which has not begun", f.kind, f.call)
	}
	x.mu.Lock()
	c := x.calls[f.call]
	x.mu.Unlock()
	if c == nil {
		return nil
	}
	switch f.kind {
	case kindData:
		return c.in.put(f.payload)
	case kindEnd:
		c.in.close(io.EOF)
	case kindCredit:
		return c.out.grant(f.payload)
	case kindStop:
		c.once.Do(func() { close(c.stop) })
	case kindCancel:
		c.cancel(context.Canceled)
	default:
		return malformed("kind %d is not for the far side", f.kind)
	}
	return nil
}

func (x *session) begin(f frame) error {
	if f.call <= x.last {
		return malformed("call %d begins after call %d", f.call, x.last)
	}
	var r request
	if err := decode(f, &r); err != nil {
		return err
	}
	x.last = f.call
	c := &served{id: f.call, request: r, stop: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(x.link.ctx)
	c.in, c.out = newInlet(x.link.credit(c.id)), newOutlet(x.link.data(c.id))
	context.AfterFunc(c.ctx, func() {
		c.in.close(context.Cause(c.ctx))
		c.out.close(context.Cause(c.ctx))
	})
	x.mu.Lock()
	full := len(x.calls) >= mostCalls
	x.calls[c.id] = c
	x.mu.Unlock()
	x.running.Go(func() {
		a := answer{Fault: newFault(fmt.Errorf("more than %d calls at once", mostCalls))}
		if !full {
			a = c.perform(x)
		}
		x.mu.Lock()
		delete(x.calls, c.id)
		x.mu.Unlock()
		c.cancel(nil)
		if err := x.link.sendJSON(kindResult, c.id, a); err != nil {
			x.link.end(err) // a call without a result would be waited for without end
		}
	})
	return nil
}

// endTime limits the wait for killed processes.
const endTime = 15 * time.Second

// finish waits for running calls, frees the workers, restores settings and releases the
// claims.
func (x *session) finish() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endTime, errors.New("the lab's commands did not end in time"))
	defer cancel()
	ended := make(chan struct{})
	go func() { x.running.Wait(); close(ended) }()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if c, ok := x.machine.(platform.Confiner); ok && c.Confinement() != (platform.Confinement{}) {
		err = errors.Join(err, c.Confine(ctx, platform.Confinement{}))
	}
	if x.restore != nil {
		err = errors.Join(err, x.restore(ctx))
	}
	x.desk.close()
	return err
}
