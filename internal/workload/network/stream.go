package network

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
)

// stream is a load that goes one way.
type stream struct {
	load    *network
	stage   load.Stage
	session *peer.Session
	out     *measure.Recorder
	senders []*sender
	origin  time.Time
	over    atomic.Bool // the threads are to end
	failed  chan error  // a thread cannot go on

	last     peer.Counts
	lost     int64 // counted as errors so far, with failed
	messages int64 // received so far, in intervals
	sum      page
	cpu      time.Duration
}

// runStream runs a stream until its end, and counts what reached the reflector.
func (n *network) runStream(ctx context.Context, t preparedTest, stage load.Stage, out *measure.Recorder) error {
	s := &stream{load: n, stage: stage, session: t.session, out: out, failed: make(chan error, n.Threads)}
	defer s.close()
	for i := range n.Threads {
		sender, err := s.newSender(i, t)
		if sender != nil {
			s.senders = append(s.senders, sender)
		}
		if err != nil {
			return fmt.Errorf("open a socket to the reflector: %w", err)
		}
	}
	seen, err := n.equipment(s.senders[0].flows[0].fd)
	if err != nil {
		return err
	}
	t.observe(n, seen, out)
	// Each thread waits in system calls of which the Go scheduler knows nothing.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n.Threads))
	if err := s.session.Go(ctx); err != nil {
		return err
	}
	s.cpu, s.origin = load.ProcessCPU(), time.Now()
	var wait sync.WaitGroup
	for _, sender := range s.senders {
		wait.Go(sender.run)
	}
	err = s.follow(ctx)
	s.over.Store(true)
	wait.Wait()
	if err != nil {
		return err
	}
	return s.conclude(ctx)
}

func (s *stream) close() {
	for _, sender := range s.senders {
		for _, f := range sender.flows {
			syscall.Close(f.fd) //nolint:errcheck // what it sent was counted at the far side
		}
	}
}

// follow records one interval after the other.
func (s *stream) follow(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for due := time.Duration(0); due < s.stage.Length; {
		due = min(due+s.stage.Interval, s.stage.Length)
		timer.Reset(time.Until(s.origin.Add(due)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.session.Gone():
			return s.session.Err()
		case err := <-s.failed:
			return err
		}
		counts, err := s.session.Counts(ctx)
		if err != nil {
			return err
		}
		if !s.interval(counts) {
			return nil
		}
	}
	return nil
}

// interval records the counts since the last ones. Its bounds are on the
// receiver's clock, which is read together with its counts.
func (s *stream) interval(now peer.Counts) (more bool) {
	turn := s.turn()
	sample := measure.Sample{Operations: max(0, now.Messages-s.last.Messages), Bytes: max(0, now.Bytes-s.last.Bytes)}
	// A message that is missing may still be under way: it counts once, when a later
	// one has come, and what turns up after that makes later losses fewer. Who sends
	// without a rate outruns the receiver on purpose: what is lost then is measured,
	// and no failure.
	lost := now.Missing + s.sum.failed
	if n := lost - s.lost; n > 0 && s.load.Rate > 0 {
		sample.Errors = n
		s.lost = lost
	}
	in := measure.Interval{From: s.last.Elapsed, To: max(now.Elapsed, s.last.Elapsed+1), Samples: []measure.Sample{sample}, Offer: turn.offer}
	s.messages += sample.Operations
	s.last, s.last.Elapsed = now, in.To
	return s.out.Interval(in)
}

// turn is what the senders did since the last turn.
func (s *stream) turn() page {
	turn := s.newPage()
	for _, sender := range s.senders {
		turn.add(sender.turn())
	}
	s.sum.add(turn)
	return turn
}

// page is what a sender did in some time.
type page struct {
	sent, failed, bytes int64
	blocked             int64 // late because the socket took no more
	deserted            int64 // counted as started, but the load ended before the system took them
	offer               measure.Offer
	gap                 time.Duration // longest time by which it came late to look at the clock
	spun                time.Duration // spent reading the clock until something was due
}

func (s *stream) newPage() page {
	var p page
	if s.load.offer.Arrivals.Rate > 0 {
		p.offer.Lag = measure.NewHistogram()
	}
	return p
}

func (p *page) add(o page) {
	p.sent += o.sent
	p.failed += o.failed
	p.bytes += o.bytes
	p.blocked += o.blocked
	p.deserted += o.deserted
	p.gap = max(p.gap, o.gap)
	p.spun += o.spun
	p.offer.Add(o.offer)
	if p.offer.Lag != nil && o.offer.Lag != nil {
		p.offer.Lag.Merge(o.offer.Lag)
	}
}
