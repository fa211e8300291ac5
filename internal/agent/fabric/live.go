package fabric

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// live is a session of an agent while it lasts.
type live struct {
	a       *Agent
	s       *session
	streams *streams
	ctx     context.Context
	cancel  context.CancelCauseFunc
	work    sync.WaitGroup // calls of Serve and Start, and what sends records

	ended   chan error // why the session ends; holds one
	renewed chan renewed
	acks    chan uint64

	confirmed bool // by the lab; only hold touches it

	mu      sync.Mutex
	offsets offsets
}

func newLive(ctx context.Context, a *Agent, s *session) *live {
	l := &live{a: a, s: s, ended: make(chan error, 1), renewed: make(chan renewed, 16), acks: make(chan uint64, 16)}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.streams = newStreams(func(f frame) { _ = s.out.send(kindStream, f.encode(), l.publish(kindStream)) }, l.accept)
	return l
}

// publish passes a sealed message on. What cannot be sent is lost; those who need
// it send it again.
func (l *live) publish(k kind) func([]byte) error {
	subject := up(l.a.o.Endpoint.Key.Public(), k)
	return func(data []byte) error { return l.a.bus.publish(subject, data) }
}

func (l *live) tell(c control) {
	text, err := json.Marshal(c)
	if err == nil && len(text) <= maxControl {
		_ = l.s.out.send(kindControl, text, l.publish(kindControl))
	}
}

func (l *live) end(cause error) {
	select {
	case l.ended <- cause:
	default:
	}
}

// burst is how many round trips an agent makes at once when it has joined.
const burst = 8

// hold renews the lease until it ends, and says why it did.
func (l *live) hold(ctx context.Context) error {
	clock := l.a.clock
	lease := l.s.lease
	deadline := clock.Now().Add(min(lease, 5*retry))
	due := clock.Now() // of the next renewal
	trips := 0
	for {
		now := clock.Now()
		if !now.Before(deadline) {
			return errLease
		}
		if !now.Before(due) {
			l.renew(now)
			due = now.Add(min(renewalOf(lease), l.patience()))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-l.a.bus.dead():
			return ErrRefused
		case cause := <-l.ended:
			return cause
		case <-clock.After(min(due.Sub(now), deadline.Sub(now), time.Second)):
			l.streams.nudge()
		case r := <-l.renewed:
			if !l.confirmed {
				l.confirmed, deadline = true, time.Time{}
				l.a.log("joined the lab as %s", l.a.o.Name)
				l.work.Go(l.sendRecords)
			}
			lease = r.Lease
			deadline = later(deadline, time.Unix(0, r.Sent).Add(lease))
			if trips++; trips < burst {
				due = clock.Now()
			} else {
				due = time.Unix(0, r.Sent).Add(renewalOf(lease))
			}
		}
	}
}

// patience is how long a renewal may stay without an answer before the next.
func (l *live) patience() time.Duration {
	if l.confirmed {
		return l.s.lease
	}
	return retry
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// renew asks for a longer lease; until the lab has answered once, it also
// completes the handshake.
func (l *live) renew(now time.Time) {
	if !l.confirmed {
		j := join{Name: l.a.o.Name, Labels: l.a.o.Labels, Facts: l.a.o.Facts}
		if s := l.a.o.Spool; s != nil {
			j.Spool, j.First = s.name, s.firstWaiting()
		}
		l.tell(control{Join: &j})
	}
	r := renew{Sent: now.UnixNano()}
	if offset, bound, ok := l.offset(now); ok {
		r.Known, r.Offset, r.Error = true, int64(offset), int64(bound)
	}
	l.tell(control{Renew: &r})
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
	case c.Start != nil:
		o := *c.Start
		l.work.Go(func() { l.start(o) })
	case c.Leave != "":
		l.end(fmt.Errorf("the lab ended the session: %s", c.Leave))
	}
}

func (l *live) accept(s *Stream) {
	if l.a.o.Serve == nil {
		s.Reset(errors.New("this agent serves no streams"))
		return
	}
	l.work.Go(func() {
		l.a.o.Serve(l.ctx, s)
		_ = s.Close()
	})
}

// tardiest is how long after its instant an order is still carried out.
const tardiest = time.Second

// spread is the time over which agents that started together report, so that the
// reports of many neither hold up who starts last nor reach the lab all at once.
const spread = 250 * time.Millisecond

// start waits for the instant of an order and carries it out.
func (l *live) start(o order) {
	clock := l.a.clock
	report := started{ID: o.ID}
	for {
		now := clock.Now()
		offset, bound, ok := l.offset(now)
		if !ok {
			report.Fault = "the agent does not know the lab's time yet"
			break
		}
		at := now.Add(offset)
		left := time.Unix(0, o.At).Sub(at)
		if left > 0 {
			select {
			case <-clock.After(left):
				continue
			case <-l.ctx.Done():
				return
			}
		}
		report.At, report.Error = at.UnixNano(), int64(bound)
		if -left > tardiest {
			report.Fault = fmt.Sprintf("the order to start came %v after its instant", -left)
		} else if l.a.o.Start == nil {
			report.Fault = "the agent has nothing to start"
		} else if err := l.a.o.Start(l.ctx, o.What); err != nil {
			report.Fault = err.Error()
		}
		break
	}
	select {
	case <-clock.After(rand.N(spread)):
	case <-l.ctx.Done():
	}
	l.tell(control{Started: &report})
}

// ahead is how many records are sent before the first of them is acknowledged.
const ahead = 32

// sendRecords sends what is in the spool, in order, and again what the lab does
// not acknowledge.
func (l *live) sendRecords() {
	spool := l.a.o.Spool
	if spool == nil {
		return
	}
	next := spool.firstWaiting()
	again := l.a.clock.After(retry)
	moved := false
	for {
		for next < spool.firstWaiting()+ahead {
			data, err := spool.read(next)
			if err != nil {
				l.a.log("%v", err)
				l.tell(control{Trouble: err.Error()})
			}
			if data == nil {
				break
			}
			_ = l.s.out.send(kindRecord, append(binary.BigEndian.AppendUint64(nil, next), data...), l.publish(kindRecord))
			next++
		}
		select {
		case <-l.ctx.Done():
			return
		case <-spool.grown:
		case number := <-l.acks:
			if err := spool.acknowledge(number); err != nil {
				l.a.log("%v", err)
			}
			next = max(next, spool.firstWaiting())
			moved = true
		case <-again:
			if !moved {
				next = spool.firstWaiting()
			}
			moved = false
			again = l.a.clock.After(retry)
		}
	}
}

func (l *live) takeAck(text []byte) {
	if len(text) != 8 {
		return
	}
	select {
	case l.acks <- binary.BigEndian.Uint64(text):
	case <-l.ctx.Done():
	}
}
