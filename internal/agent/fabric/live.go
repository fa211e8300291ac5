package fabric

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// live is a session of an agent while it lasts.
type live struct {
	*session
	a      *Agent
	ctx    context.Context
	cancel context.CancelCauseFunc
	work   sync.WaitGroup // calls of Serve, and the handler of control messages

	welcome chan struct{} // closed when the lab has admitted the agent
	lease   time.Duration
	joined  time.Time   // time of the join request
	asked   atomic.Bool // the join request was sent
	ended   chan error  // why the session ends; holds one
	renewed chan renewed
	doubts  chan struct{}

	mu      sync.Mutex
	offsets offsets
}

// join secures the session and has the lab admit the agent.
func (l *live) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*retry)
	defer cancel()
	answer := make(chan error, 1)
	l.work.Go(func() { answer <- l.ask() })
	for {
		select {
		case err := <-answer:
			return err
		case <-ctx.Done():
			return fmt.Errorf("no response from a lab: %w", ctx.Err())
		case <-l.a.bus.dead():
			return ErrRefused
		case <-l.a.clock.After(retry / 4):
			l.flows.nudge()
		}
	}
}

// ask requests to join and waits for the response.
func (l *live) ask() error {
	l.flows.begun()
	if err := l.control.Handshake(); err != nil {
		return fmt.Errorf("secure the session with the lab: %w", err)
	}
	l.joined = l.a.clock.Now()
	if err := l.tell(control{Join: &join{Version: version, Name: l.a.o.Name, Labels: l.a.o.Labels, Facts: l.a.o.Facts}}); err != nil {
		return err
	}
	l.asked.Store(true)
	c, err := l.hear()
	switch {
	case err != nil:
		return err
	case c.Refused != "":
		return fmt.Errorf("%w (%s)", ErrRefused, c.Refused)
	case c.Welcome == nil || c.Welcome.Lease <= 0:
		return fmt.Errorf("the lab refused the agent: %s", c.Leave)
	}
	l.lease = c.Welcome.Lease
	close(l.welcome)
	l.work.Go(l.listen)
	return nil
}

// listen takes control messages until the session ends.
func (l *live) listen() {
	for {
		c, err := l.hear()
		if err != nil {
			l.end(fmt.Errorf("receive from the lab: %w", err))
			return
		}
		l.take(c)
	}
}

// doubt records a notice that the session is unknown to the lab. It may be forged.
func (l *live) doubt() {
	select {
	case l.doubts <- struct{}{}:
	default:
	}
}

func (l *live) end(cause error) {
	select {
	case l.ended <- cause:
	default:
	}
}

// burst is the number of immediate round trips after the join.
const burst = 8

// hold renews the lease until it ends, and returns the reason.
func (l *live) hold(ctx context.Context) error {
	clock := l.a.clock
	deadline := l.joined.Add(l.lease)
	due := clock.Now() // of the next renewal
	doubted := false
	trips := 0
	for last := l.joined; ; {
		now := clock.Now()
		switch {
		case now.Before(last): // the clock was set back, which would prolong the lease
			return errClock
		case !now.Before(deadline):
			return errLease
		}
		last = now
		if !now.Before(due) {
			if err := l.renew(now); err != nil {
				return err
			}
			due = now.Add(renewalOf(l.lease))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.a.bus.dead():
			return ErrRefused
		case cause := <-l.ended:
			return cause
		case <-clock.After(min(due.Sub(now), deadline.Sub(now), time.Second)):
			l.flows.nudge()
		case <-l.doubts:
			if !doubted { // a lab with this session responds to a renewal
				doubted, due = true, now
				deadline = earlier(deadline, now.Add(3*retry))
			}
		case r := <-l.renewed:
			if doubted {
				doubted, deadline = false, time.Time{}
			}
			l.lease = r.Lease
			deadline = later(deadline, time.Unix(0, r.Sent).Add(l.lease))
			if trips++; trips < burst {
				due = clock.Now()
			} else {
				due = time.Unix(0, r.Sent).Add(renewalOf(l.lease))
			}
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// renew requests a longer lease.
func (l *live) renew(now time.Time) error {
	r := renew{Sent: now.UnixNano()}
	if offset, bound, ok := l.offset(now); ok {
		r.Known, r.Offset, r.Error = true, int64(offset), int64(bound)
	}
	return l.tell(control{Renew: &r})
}

func (l *live) offset(now time.Time) (offset, bound time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.offsets.at(now)
}

// take handles a control message of the lab, as soon as it arrives: the end of a round
// trip is now.
func (l *live) take(c control) {
	switch {
	case c.Renewed != nil:
		r := *c.Renewed
		back := l.a.clock.Now()
		if r.Lease <= 0 || r.Sent > back.UnixNano() {
			return
		}
		l.mu.Lock()
		l.offsets.add(roundTrip{sent: time.Unix(0, r.Sent), seen: time.Unix(0, r.Seen), answered: time.Unix(0, r.Answered), back: back})
		l.mu.Unlock()
		select {
		case l.renewed <- r:
		default:
		}
	case c.Reset != nil:
		l.reset(*c.Reset)
	case c.Leave != "":
		l.end(fmt.Errorf("the lab ended the session: %s", c.Leave))
	}
}

// accept serves a stream. The lab may open it before its welcome was read.
func (l *live) accept(f *flow) {
	l.work.Go(func() {
		select {
		case <-l.welcome:
		case <-l.ctx.Done():
			return
		}
		s := l.stream(f)
		if l.a.o.Serve == nil {
			s.Reset(errors.New("this agent serves no streams"))
			return
		}
		l.a.o.Serve(l.ctx, s)
		_ = s.Close()
	})
}
