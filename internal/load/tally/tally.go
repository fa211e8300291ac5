// Package tally counts the outcomes of a load's operations. Each measuring thread has its own
// sheet, which it hands over interval by interval; the book merges the sheets.
package tally

import (
	"time"

	"plimsoll/internal/measure"
)

// grace is the lag beyond its tick with which an operation still starts on time: the cost of a
// wake-up on a shared machine.
const grace = time.Millisecond

// Sheet holds the counts of one thread. Times are since the origin of the stage. It must be
// used by one goroutine at a time.
type Sheet struct {
	book   *Merger
	page   page
	late   time.Duration // a start later than this is late
	length time.Duration // of the stage
	open   bool          // keeps a schedule
	life   life

	trouble *measure.Check
}

// page holds the counts of a thread in one interval.
type page struct {
	interval int // last: the thread is done
	classes  []class
	shares   []int64 // of each of several servers
	offer    measure.Offer
	strain   lateness
	life     life           // on the last page
	trouble  *measure.Check // likewise
}

// life holds the totals of a thread, independent of intervals, as a cross-check.
type life struct {
	scheduled, started, abandoned int64
	ended                         int64 // with or without success
	outside                       int64 // of those, in no interval
	underWay                      int64 // in flight at the end, as counted by the loop
	starved                       time.Duration
}

const last = -1

type class struct {
	operations, bytes, failed, timedOut int64
	total                               time.Duration
	response, service                   *measure.Histogram
}

// lateness is a thread's own share of late starts.
type lateness struct {
	blocked int64         // late because no slot was free
	lost    int64         // abandoned in spite of a free slot
	gap     time.Duration // longest delay in looking at the clock
	spun    time.Duration
}

func (s *Sheet) turnTo(interval int) {
	s.page = page{interval: interval, classes: make([]class, len(s.book.classes))}
	if n := len(s.book.job.More); n > 0 {
		s.page.shares = make([]int64, 1+n)
	}
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

// Look records that the thread has read the clock, and when it meant to. It hands over the
// counts when the interval has ended, and returns false once enough was measured.
func (s *Sheet) Look(now, meant time.Duration) (more bool) {
	s.page.strain.gap = max(s.page.strain.gap, now-meant)
	s.advance(now)
	return !s.book.ended.Load()
}

// advance hands over the counts of intervals that have ended.
func (s *Sheet) advance(now time.Duration) {
	for at := s.book.at(now); s.page.interval < at; {
		next := s.page.interval + 1
		s.book.pages <- s.page
		s.turnTo(next)
	}
}

// Start counts an operation that starts now, with its due time. Blocked reports that it waited
// for a free slot.
func (s *Sheet) Start(due, now time.Duration, blocked bool) {
	s.life.scheduled++
	s.life.started++
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

// Abandon counts an operation that was due and will never start. Blocked reports that it
// waited for a free slot.
func (s *Sheet) Abandon(blocked bool) {
	s.life.scheduled++
	s.life.abandoned++
	s.page.offer.Scheduled++
	s.page.offer.Abandoned++
	if !blocked {
		s.page.strain.lost++
	}
}

// Operation is a completed operation.
type Operation struct {
	Class        int
	Server       int // of several, in the order of the job's addresses
	Due, Started time.Duration
	Bytes        int64
}

// Done counts a successful operation. One that ends after the stage is in no interval: as many
// were in flight at the beginning of the window, and counting both ends would bias the rate. In
// an open loop its response time is in the last interval, because it was due in the stage:
// leaving it out would hide long response times.
func (s *Sheet) Done(o Operation, now time.Duration) {
	s.life.ended++
	outside := now >= s.length
	if outside {
		s.life.outside++
		s.advance(now)
	}
	if outside && !s.open {
		return
	}
	c := &s.page.classes[o.Class]
	c.response.Record(now-o.Due, 1)
	if s.open {
		c.service.Record(now-o.Started, 1)
	}
	if outside {
		return
	}
	if s.page.shares != nil {
		s.page.shares[o.Server]++
	}
	c.operations++
	c.bytes += o.Bytes
	c.total += now - o.Due
}

// Fail counts a failed operation, also after the stage.
func (s *Sheet) Fail(class int) {
	s.life.ended++
	s.page.classes[class].failed++
}

// TimeOut counts an operation that timed out.
func (s *Sheet) TimeOut(class int) {
	s.life.ended++
	s.page.classes[class].timedOut++
}

// Spun records the CPU time of busy-waiting, which the load does not need.
func (s *Sheet) Spun(d time.Duration) { s.page.strain.spun += d }

// Starved reports the thread's total time runnable and waiting for a CPU.
func (s *Sheet) Starved(d time.Duration) { s.life.starved += d }

// Close hands over the rest, and empty intervals for those not reached, unless enough was
// measured. UnderWay is the number of operations in flight, as counted by the thread. The
// thread must call it once, at its end; a sheet whose load never began is not closed.
func (s *Sheet) Close(underWay int) {
	for ; s.page.interval < s.book.intervals && !s.book.ended.Load(); s.turnTo(s.page.interval + 1) {
		s.book.pages <- s.page
	}
	s.life.underWay = int64(underWay)
	s.book.pages <- page{interval: last, life: s.life, trouble: s.trouble}
}

// addTo adds the counts of the page to an interval.
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
	for i, n := range p.shares {
		in.Shares[i] += n
	}
	if o := &p.offer; o.Lag != nil {
		in.Offer.Add(*o)
		in.Offer.Lag.Merge(o.Lag)
	}
}
