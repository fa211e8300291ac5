// Package tally counts what becomes of the operations of a load. Each measuring
// thread has a sheet of its own, which nothing else touches, and hands it over
// interval by interval; the book joins the sheets by adding.
package tally

import (
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// grace is how much later than its tick allows an operation may start and still
// be on time: what a wake-up costs on a machine that others use too.
const grace = time.Millisecond

// Sheet is the count of one thread. Times are since the origin of the stage. It
// must be used by one goroutine.
type Sheet struct {
	book    *Book
	page    page
	late    time.Duration // a start later than this is late
	open    bool          // keeps a schedule
	pending int64         // operations started whose end is not counted yet
}

// page is what a thread counts in one interval.
type page struct {
	interval int // last: the thread counts no more
	classes  []class
	offer    measure.Offer
	strain   strain
	pending  int64 // on the last page: operations that never ended
}

const last = -1

type class struct {
	operations, bytes, failed, timedOut int64
	total                               time.Duration
	response, service                   *measure.Histogram
}

// strain is what the thread itself had to do with late starts.
type strain struct {
	blocked int64         // started late because no slot was free
	gap     time.Duration // longest time by which it came late to look at the clock
	spun    time.Duration
}

func (s *Sheet) turnTo(interval int) {
	s.page = page{interval: interval, classes: make([]class, len(s.book.classes))}
	for i := range s.page.classes {
		s.page.classes[i].response = measure.NewHistogram()
		if s.open {
			s.page.classes[i].service = measure.NewHistogram()
		}
	}
	if s.open {
		s.page.offer.Lag = measure.NewHistogram()
	}
}

// Look tells the sheet that its thread has looked at the clock, which it meant to
// do at the given instant at the latest. It hands over what was counted when the
// interval has ended, and answers whether the load goes on: false once enough was
// measured.
func (s *Sheet) Look(now, meant time.Duration) (more bool) {
	s.page.strain.gap = max(s.page.strain.gap, now-meant)
	for at := s.book.at(now); s.page.interval < at; {
		next := s.page.interval + 1
		s.book.pages <- s.page
		s.turnTo(next)
	}
	return !s.book.ended.Load()
}

// Start counts an operation that starts now, due at the given time. Blocked says
// that it would have started earlier if a slot had been free.
func (s *Sheet) Start(due, now time.Duration, blocked bool) {
	s.pending++
	if !s.open {
		return
	}
	o, lag := &s.page.offer, now-due
	o.Scheduled++
	o.Lag.Record(lag, 1)
	if lag <= s.late {
		o.OnTime++
		return
	}
	o.Late++
	if blocked {
		s.page.strain.blocked++
	}
}

// Abandon counts an operation that was due and will never start.
func (s *Sheet) Abandon() {
	s.page.offer.Scheduled++
	s.page.offer.Abandoned++
}

// Operation is one that has ended.
type Operation struct {
	Class        int
	Due, Started time.Duration
	Bytes        int64
}

// Done counts an operation that ended well, now.
func (s *Sheet) Done(o Operation, now time.Duration) {
	s.pending--
	c := &s.page.classes[o.Class]
	c.operations++
	c.bytes += o.Bytes
	c.total += now - o.Due
	c.response.Record(now-o.Due, 1)
	if s.open {
		c.service.Record(now-o.Started, 1)
	}
}

// Fail counts an operation that failed.
func (s *Sheet) Fail(class int) {
	s.pending--
	s.page.classes[class].failed++
}

// TimeOut counts an operation that was given up.
func (s *Sheet) TimeOut(class int) {
	s.pending--
	s.page.classes[class].timedOut++
}

// Spun tells the sheet that its thread waited with its eyes open, which takes
// CPU time that the load does not need.
func (s *Sheet) Spun(d time.Duration) { s.page.strain.spun += d }

// Pending is how many operations were started and have not ended.
func (s *Sheet) Pending() int64 { return s.pending }

// Close hands over the rest, and intervals that the thread did not reach empty,
// unless enough was measured. It must be called once, by the thread, when it counts
// no more.
func (s *Sheet) Close() {
	for ; s.page.interval < s.book.intervals && !s.book.ended.Load(); s.turnTo(s.page.interval + 1) {
		s.book.pages <- s.page
	}
	s.book.pages <- page{interval: last, pending: s.pending}
}

// addTo adds what the page counts to an interval.
func (p *page) addTo(in *measure.Interval) {
	for i := range p.classes {
		c, s := &p.classes[i], &in.Samples[i]
		s.Operations += c.operations
		s.Bytes += c.bytes
		s.Errors += c.failed + c.timedOut
		s.TimedOut += c.timedOut
		s.Total += c.total
		s.Latency.Merge(c.response)
		if c.service != nil {
			s.Service.Merge(c.service)
		}
	}
	if o := &p.offer; o.Lag != nil {
		in.Offer.Scheduled += o.Scheduled
		in.Offer.OnTime += o.OnTime
		in.Offer.Late += o.Late
		in.Offer.Abandoned += o.Abandoned
		in.Offer.Lag.Merge(o.Lag)
	}
}

// lateness is how late an operation of the job may start and still be on time.
func lateness(j load.Job) time.Duration { return j.Tick + grace }
