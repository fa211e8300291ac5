package null

import (
	"context"
	"math/rand/v2"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// worker performs operations one after the other.
type worker struct {
	load   *idle
	stage  load.Stage
	start  time.Time
	end    time.Time
	number int
	rng    *rand.Rand
	timer  *time.Timer
	turns  chan<- turn
}

// run performs operations until the load ends. What has not completed by then
// does not count. A response time counts from the instant at which the operation
// was due, so that whatever held up the worker is in it.
func (w *worker) run(ctx context.Context) {
	w.end = w.start.Add(w.stage.Length)
	w.timer = time.NewTimer(time.Hour)
	defer w.timer.Stop()
	current := turn{sample: measure.Sample{Latency: measure.NewHistogram()}}
	defer func() { w.handIn(ctx, &current, intervals(w.stage)) }()
	due := w.start
	for i := 0; ; i++ {
		if w.load.Rate > 0 {
			// One schedule for all, distributed to the workers in turn.
			due = w.start.Add(time.Duration(float64(i*w.load.Threads+w.number) / float64(w.load.Rate) * 1e9))
		}
		if !w.wait(ctx, due) || !w.wait(ctx, w.done(time.Now())) {
			return
		}
		now := time.Now()
		if now.After(w.end) {
			return
		}
		w.handIn(ctx, &current, int(now.Sub(w.start)/w.stage.Interval))
		w.count(&current.sample, now.Sub(due))
		due = now.Add(time.Duration(w.load.Think))
	}
}

// wait waits for an instant, and reports whether the load was still to go on then.
func (w *worker) wait(ctx context.Context, until time.Time) bool {
	left := min(time.Until(until), time.Until(w.end))
	if left <= 0 {
		return ctx.Err() == nil && !until.After(w.end)
	}
	w.timer.Reset(left)
	select {
	case <-ctx.Done():
		return false
	case <-w.timer.C:
		return !until.After(w.end)
	}
}

// done is when an operation that begins now will be done.
func (w *worker) done(now time.Time) time.Time {
	service := float64(w.load.Service) * max(0, 1+w.load.Drift*now.Sub(w.start).Minutes())
	done := now.Add(time.Duration(service))
	from := w.start.Add(time.Duration(w.load.StallAt))
	if to := from.Add(time.Duration(w.load.Stall)); w.load.Stall > 0 && !done.Before(from) && done.Before(to) {
		return to
	}
	return done
}

// handIn gives away the turns of all intervals before the one that is to be
// current, also of those in which nothing completed.
func (w *worker) handIn(ctx context.Context, current *turn, interval int) {
	for current.interval < interval {
		select {
		case w.turns <- *current:
		case <-ctx.Done():
			return
		}
		*current = turn{interval: current.interval + 1, sample: measure.Sample{Latency: measure.NewHistogram()}}
	}
}

func (w *worker) count(s *measure.Sample, response time.Duration) {
	if w.load.Fail > 0 && w.rng.Float64() < float64(w.load.Fail) {
		s.Errors++
		return
	}
	s.Operations++
	s.Bytes += int64(w.load.Payload)
	s.Total += response
	s.Latency.Record(response, 1)
}
