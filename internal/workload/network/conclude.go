package network

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
)

// landing is how long what was sent last may be under way.
const landing = time.Second

// conclude waits for what is under way, and records the result of the stream.
func (s *stream) conclude(ctx context.Context) error {
	ran, cpu := time.Since(s.origin), load.ProcessCPU()-s.cpu
	s.turn()
	if err := s.land(ctx); err != nil {
		return err
	}
	r, err := s.session.Report(ctx)
	if err != nil {
		return err
	}
	// The reflector waited as long as this side did; what it used meanwhile is next to
	// nothing, and rates are over the time of the load.
	r.Elapsed = ran
	far(r, s.out)
	s.out.Value("client.cpu", cpu.Seconds()/ran.Seconds())
	if s.sum.sent > 0 {
		s.out.Value("client.cpu_per_operation", cpu.Seconds()/float64(s.sum.sent))
	}
	s.out.Value("sent", float64(s.sum.sent)/ran.Seconds())
	if s.last.Elapsed > 0 {
		s.out.Value("received", float64(s.messages)/s.last.Elapsed.Seconds())
	}
	if s.load.Test == udpStream {
		s.account(r, ran)
		s.out.Check(s.generator(max(0, cpu-s.sum.spun).Seconds()/ran.Seconds()/float64(s.load.Threads), ran))
	}
	return nil
}

// land waits until all that was sent has come, or nothing more comes.
func (s *stream) land(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var before peer.Counts
	for over := time.Now().Add(landing); ; {
		<-timer.C
		c, err := s.session.Counts(ctx)
		if err != nil {
			return err
		}
		whole := c.Messages+c.Overflows+c.Thrown >= s.sum.sent
		if s.load.Test == tcpStream {
			whole = c.Bytes >= s.sum.bytes
		}
		quiet := c.Bytes == before.Bytes && c.Overflows == before.Overflows && c.Thrown == before.Thrown && before.Elapsed > 0
		if whole || quiet || time.Now().After(over) {
			return nil
		}
		before = c
		timer.Reset(landing / 10)
	}
}

// account records the fate of every datagram, and checks that none has two.
func (s *stream) account(r peer.Report, ran time.Duration) {
	sent, lost := s.sum.sent, s.sum.sent-r.Messages
	s.out.Value("send_failures", float64(s.sum.failed)/ran.Seconds())
	if sent > 0 {
		s.out.Value("loss", float64(max(0, lost))/float64(sent))
		s.out.Value("overflow", float64(r.Overflows)/float64(sent))
		s.out.Value("duplicates", float64(r.Duplicates)/float64(sent))
		s.out.Value("reordered", float64(r.Reordered)/float64(sent))
	}
	c := measure.Check{Name: "accounting", State: measure.Pass, Detail: fmt.Sprintf(
		"%d datagrams sent = %d received + %d lost, of which %d overflowed the receiver's buffer and %d were dropped as ordered; %d were refused by the sender's system, %d came twice, %d out of order",
		sent, r.Messages, lost, r.Overflows, r.Thrown, s.sum.failed, r.Duplicates, r.Reordered) + strange(r.Counts) + s.refusal()}
	offer := s.sum.offer
	if started := offer.OnTime + offer.Late; s.load.offer.Arrivals.Rate > 0 {
		c.Detail += fmt.Sprintf("; %d scheduled = %d on time + %d late + %d abandoned", offer.Scheduled, offer.OnTime, offer.Late, offer.Abandoned)
		if offer.Scheduled != started+offer.Abandoned || started != sent+s.sum.failed+s.sum.deserted {
			c.State = measure.Fail
		}
	}
	if lost < 0 {
		c.State = measure.Fail
	}
	s.out.Check(c)
}

// refusal says why the system refused messages, if it did.
func (s *stream) refusal() string {
	for _, d := range s.senders {
		if d.refusal != 0 {
			return fmt.Sprintf("; the sender's system refused the last one because: %s", d.refusal)
		}
	}
	return ""
}

// Shares of what was offered that the sender itself may keep from starting in time, or
// at all, before the load says more about the sender than about the network.
const (
	mostLate = .01
	mostLost = .005
)

// generator judges whether the sender kept its schedule. A message that the socket
// did not take was kept by the network; without a schedule, the sender's speed is a
// part of what is measured.
func (s *stream) generator(busy float64, ran time.Duration) measure.Check {
	c := measure.Check{Name: "generator", State: measure.Pass, Detail: fmt.Sprintf("%.3g of its %d threads' CPUs in use; datagrams were given to the system %s", busy, s.load.Threads, s.senders[0].manner())}
	if s.load.offer.Arrivals.Rate == 0 {
		return c
	}
	s.out.Value("client.gap", s.sum.gap.Seconds())
	s.out.Value("generator.cpu", busy)
	var unstarted int64
	for _, d := range s.senders {
		unstarted += d.unstarted(ran)
	}
	all := float64(max(1, s.sum.offer.Scheduled+unstarted))
	own := float64(s.sum.offer.Late-s.sum.blocked) / all
	lost := float64(s.sum.offer.Abandoned+unstarted) / all
	c.Detail += fmt.Sprintf("; longest gap %s; of %.0f due %.3g %% were started late by the generator, %.3g %% waited for the socket, %.3g %% never started",
		s.sum.gap.Round(time.Microsecond), all, 100*own, 100*float64(s.sum.blocked)/all, 100*lost)
	if own > mostLate || lost > mostLost && s.sum.blocked == 0 {
		c.State = measure.Fail
		c.Detail = "the sender could not keep its schedule: " + c.Detail + ": offer less, or give it more network.threads"
	}
	return c
}

// manner is how datagrams went to the system.
func (d *sender) manner() string {
	switch d.way {
	case sendSegmented:
		return fmt.Sprintf("in pieces of up to %d", d.most())
	case sendBatch:
		return fmt.Sprintf("in batches of up to %d", d.most())
	}
	return "one at a time"
}

// unstarted is how many messages were due by the end of the load and not started, up
// to a number that nobody would overlook.
func (d *sender) unstarted(ran time.Duration) int64 {
	n := int64(0)
	for ; d.due < ran && n < 1e7; n++ {
		d.advance()
	}
	return n
}
