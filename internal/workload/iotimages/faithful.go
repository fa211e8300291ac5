package iotimages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// fudge is the factor by which the kit shortens its pauses.
const fudge = .7

// kitPace draws the pauses between the images of the published kit: lognormal, with a mean of
// 0.7/rate seconds, and a sigma of 0.5/rate seconds taken as a number without a unit, as there.
type kitPace struct {
	rate float64 // 0: no pauses
	rng  *rand.Rand
}

func (p kitPace) draw() time.Duration {
	if p.rate <= 0 {
		return 0
	}
	sigma := .5 / p.rate
	return time.Duration(fudge / p.rate * math.Exp(sigma*p.rng.NormFloat64()-sigma*sigma/2) * 1e9)
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6b6974)) }

// sender sends lines until it is stopped.
type sender struct {
	run  *run
	line line
	pace kitPace
	stop atomic.Bool
	sent atomic.Int64
}

// spin is the time before an instant from which on the sender looks at the clock.
const spin = 100 * time.Microsecond

// send sends to the end. A connection that takes no more delays it, as it does the kit's.
func (s *sender) send() error {
	var buffer []byte
	timer := time.NewTimer(0)
	<-timer.C
	for index := 0; !s.stop.Load(); index = (index + 1) % len(s.run.set) {
		buffer = s.run.encoder.Append(buffer[:0], index)
		if _, err := s.line.conn.Write(buffer); err != nil {
			return err
		}
		s.sent.Add(1)
		until := time.Now().Add(s.pace.draw())
		if pause := time.Until(until) - spin; pause > 0 {
			timer.Reset(pause)
			<-timer.C
		}
		for time.Now().Before(until) {
		}
	}
	_, err := s.line.conn.Write([]byte("\n"))
	return err
}

// faithful sends the lines of the kit, and counts what the receiver has.
func (r *run) faithful(ctx context.Context, out *measure.Recorder) error {
	stream, err := connect(ctx, r.env, r.at)
	if err != nil {
		return err
	}
	defer stream.close()
	counter, err := connect(ctx, r.env, r.at)
	if err != nil {
		return err
	}
	defer counter.close()
	before, err := counter.streams()
	if err != nil {
		return err
	}
	s := &sender{run: r, line: stream, pace: kitPace{float64(r.load.Rate), newRand(r.stage.Seed)}}
	cpu, begin := load.ProcessCPU(), time.Now()
	ended := make(chan error, 1)
	go func() { ended <- s.send() }()
	err = r.follow(ctx, follow{&counter, before, begin, ended}, out)
	s.stop.Store(true)
	if err != nil {
		stream.close()
		return errors.Join(err, quiet(<-ended))
	}
	elapsed := time.Since(begin)
	if err := stream.conn.SetDeadline(time.Now().Add(time.Duration(r.load.Timeout) + patience)); err != nil {
		return err
	}
	sum, err := s.end(<-ended)
	if err != nil {
		return fmt.Errorf("send images to the classifier at %s: %w", r.at.Address, err)
	}
	used := load.ProcessCPU() - cpu
	out.Value("sent", float64(s.sent.Load())/elapsed.Seconds())
	out.Value("client.cpu", used.Seconds()/elapsed.Seconds())
	if sum.Images > 0 {
		out.Value("client.cpu_per_operation", used.Seconds()/float64(s.sent.Load()))
		out.Value("receiver.rate", float64(sum.Images)/sum.Seconds)
		out.Value("correct", float64(sum.Correct)/float64(sum.Images))
	}
	out.Check(r.streamed(s.sent.Load(), sum))
	return nil
}

// quiet leaves out the error of a connection that was closed on purpose.
func quiet(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// end reads what the receiver says after the empty line, or why it refused a line.
func (s *sender) end(sending error) (sum images.Stream, err error) {
	text, err := s.line.hear()
	switch {
	case errors.Is(err, load.ErrRefused):
		return sum, err
	case sending != nil:
		return sum, sending
	case errors.Is(err, os.ErrDeadlineExceeded):
		return sum, fmt.Errorf("the receiver does not end the stream: %w", err)
	case err != nil:
		return sum, err
	}
	if err := json.Unmarshal(text, &sum); err != nil {
		return sum, fmt.Errorf("the receiver ends the stream with %q", excerpt(text))
	}
	return sum, nil
}

// follow is what the intervals of a stream are made from.
type follow struct {
	counter *line
	last    images.Stream
	begin   time.Time
	ended   chan error // of the sender
}

// follow records one interval after the other, from the counts of the receiver.
func (r *run) follow(ctx context.Context, f follow, out *measure.Recorder) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for at := time.Duration(0); at < r.stage.Length; {
		due := min(at+r.stage.Interval, r.stage.Length)
		timer.Reset(time.Until(f.begin.Add(due)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-f.ended:
			f.ended <- err
			return nil // what the receiver said has the reason
		}
		now, err := f.counter.streams()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		to := min(max(time.Since(f.begin), at+1), max(due, r.stage.Length))
		more := out.Interval(measure.Interval{From: at, To: to, Samples: []measure.Sample{{Operations: now.Images - f.last.Images, Bytes: now.Bytes - f.last.Bytes}}})
		f.last, at = now, to
		if !more {
			return nil
		}
	}
	return nil
}

// streamed judges what the receiver counted: every image once, and as many correct as must be.
func (r *run) streamed(sent int64, sum images.Stream) measure.Check {
	const name = "stream"
	detail := fmt.Sprintf("%d images sent, %d classified, %d of them correctly", sent, sum.Images, sum.Correct)
	if sent != sum.Images {
		return measure.DataCheck(name, false, detail+": images were lost or repeated")
	}
	bits := cifar.Expected(r.about.SHA256)
	if bits == nil {
		return measure.Check{Name: name, State: measure.Unknown, Detail: detail + "; how many must be is not known of model " + r.about.Model}
	}
	n := int64(len(r.set))
	want := sent/n*int64(bits.Correct(0, int(n))) + int64(bits.Correct(0, int(sent%n)))
	if sum.Correct != want {
		return measure.DataCheck(name, false, fmt.Sprintf("%s instead of exactly %d", detail, want))
	}
	return measure.DataCheck(name, true, detail+", as they must be")
}
