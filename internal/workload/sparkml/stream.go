package sparkml

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/spark"
	"plimsoll/internal/workload"
)

// dialFrom dials as the machine of the load does.
func dialFrom(env workload.Env) spark.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		return env.Dial(ctx, load.Endpoint{Network: network, Address: address})
	}
}

// webOf is the address of the master's web interface.
func webOf(at load.Endpoint) string { return strings.TrimPrefix(at.URL, "http://") }

// streamed counts what was decided.
type streamed struct {
	decisions, correct int64 // until the stage ended
	events             int64 // also after
}

// silence is how long no decision may come, besides some intervals.
const silence = time.Minute

// stream decides on the sensors until the stage ends. Each decision is an interval; the response time of an event is from
// its due time to the decision.
func (r *run) stream(ctx context.Context, stage load.Stage) error {
	patience := silence + 10*time.Duration(r.load.Every)
	a, err := r.driver.ask(ctx, "stream", longest)
	if err == nil && !a.Streaming {
		err = errors.New("the driver does not begin to stream")
	}
	if err != nil {
		return err
	}
	r.clock = time.Now()
	scheduled := int64(0)
	for from := time.Duration(0); from < stage.Length; {
		a, err := r.driver.next(ctx, patience)
		if err != nil {
			return err
		}
		if a.Decided == nil {
			return errors.New("the driver answers something else than a decision")
		}
		sample, err := sampleOf(a.Decided)
		if err != nil {
			return err
		}
		r.count(a.Decided, sample.Operations)
		to := max(time.Since(r.clock), from+1)
		due := int64(to.Seconds() * float64(r.load.Rate))
		offer := measure.Offer{Scheduled: due - scheduled, OnTime: due - scheduled}
		scheduled = due
		more := r.out.Interval(measure.Interval{From: from, To: to, Samples: []measure.Sample{sample}, Offer: offer})
		if from = to; !more {
			break
		}
	}
	r.measured = time.Since(r.clock)
	return nil
}

func (r *run) count(d *decided, events int64) {
	r.streamed.decisions++
	if d.Correct {
		r.streamed.correct++
	}
	r.streamed.events += events
}

// late counts the events of a decision after the stage.
func (r *run) late(a answer) {
	if a.Decided == nil {
		return
	}
	if sample, err := sampleOf(a.Decided); err == nil {
		r.streamed.events += sample.Operations
	}
}

const (
	mostDelay  = 24 * 3_600_000 // ms
	mostEvents = 10_000         // with the same delay: a sum of them all is no more than fits
)

// sampleOf has the events of a decision as operations.
func sampleOf(d *decided) (measure.Sample, error) {
	s := measure.Sample{Latency: measure.NewHistogram()}
	for text, n := range d.Delays {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms < 0 || n < 1 || ms > mostDelay || n > mostEvents {
			return s, fmt.Errorf("the driver tells %d events with a delay of %.20q ms", n, text)
		}
		took := time.Duration(ms) * time.Millisecond
		s.Latency.Record(took, n)
		s.Operations += n
		s.Total += time.Duration(n) * took
	}
	s.Bytes = s.Operations * eventSize
	if s.Operations == 0 {
		s.Latency = nil
	}
	return s, nil
}

// undelivered records the results of the stream.
func (r *run) undelivered(of *totals) {
	s := r.streamed
	if s.decisions > 0 {
		r.out.Value("decisions", float64(s.decisions)/r.measured.Seconds())
		r.out.Value("decisions.correct", float64(s.correct)/float64(s.decisions))
	}
	missing := max(0, of.Sent-s.events)
	r.out.Value("undelivered", float64(missing))
	r.out.Check(measure.DataCheck("events", missing == 0 && s.events <= of.Sent, fmt.Sprintf("%d events were sent, and %d were decided on", of.Sent, s.events)))
}
