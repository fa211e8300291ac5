package tally

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// Merger merges the sheets of a load's threads into intervals for a recorder.
type Merger struct {
	job       load.Job
	classes   []string
	intervals int // of the stage
	out       *measure.Recorder
	sheets    int
	pages     chan page
	ended     atomic.Bool // enough was measured
	cpu       time.Duration
	strain    lateness
	offer     measure.Offer
	counted   int64 // operations that ended, in all intervals
	life      life  // of all sheets
	trouble   *measure.Check
}

// New is the book of a job with a number of threads.
func New(job load.Job, threads int, out *measure.Recorder) *Merger {
	classes := job.Classes
	if len(classes) == 0 {
		classes = []string{""}
	}
	return &Merger{
		job: job, classes: classes, out: out, sheets: threads,
		intervals: int((job.Stage.Length + job.Stage.Interval - 1) / job.Stage.Interval),
		pages:     make(chan page, 16*threads),
	}
}

// Sheet makes the sheet of one thread.
func (b *Merger) Sheet() *Sheet {
	s := &Sheet{book: b, late: b.job.Tick + grace, length: b.job.Stage.Length, open: b.job.Open()}
	s.turnTo(0)
	return s
}

// at is the interval of a time. What ends after the stage belongs to its last.
func (b *Merger) at(now time.Duration) int {
	return min(int(now/b.job.Stage.Interval), b.intervals-1)
}

// Keep merges pages until every sheet is closed, records each interval once it is complete,
// and at the end the load's usage of its machine since the call. The load ends early, without
// error, once the recorder has enough. Keep always waits for all sheets: every thread must
// close its own.
func (b *Merger) Keep(ctx context.Context) error {
	b.cpu = load.ProcessCPU()
	waiting := map[int][]page{}
	next := 0
	stop := context.AfterFunc(ctx, func() { b.ended.Store(true) })
	defer stop()
	for left := b.sheets; left > 0; {
		p := <-b.pages
		if p.interval == last {
			left--
			b.life.add(p.life)
			b.trouble = worse(b.trouble, p.trouble)
			continue
		}
		if b.ended.Load() {
			continue
		}
		waiting[p.interval] = append(waiting[p.interval], p)
		for ; len(waiting[next]) == b.sheets && !b.ended.Load(); next++ {
			if !b.out.Interval(b.join(next, waiting[next])) {
				b.ended.Store(true)
			}
			delete(waiting, next)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.report(min(time.Duration(next)*b.job.Stage.Interval, b.job.Stage.Length))
	return nil
}

func (b *Merger) join(number int, pages []page) measure.Interval {
	from := time.Duration(number) * b.job.Stage.Interval
	in := measure.Interval{From: from, To: min(from+b.job.Stage.Interval, b.job.Stage.Length)}
	for _, name := range b.classes {
		s := measure.Sample{Class: name, Latency: measure.NewHistogram()}
		if b.job.Open() {
			s.Service = measure.NewHistogram()
		}
		in.Samples = append(in.Samples, s)
	}
	if b.job.Open() {
		in.Offer.Lag = measure.NewHistogram()
	}
	if n := len(b.job.More); n > 0 {
		in.Shares = make([]int64, 1+n)
	}
	for i := range pages {
		pages[i].addTo(&in)
		b.strain.add(pages[i].strain)
	}
	for _, s := range in.Samples {
		b.counted += s.Operations + s.Errors
	}
	b.offer.Add(in.Offer)
	return in
}

// mostLate is the share of operations that the generator itself may start late, and mostLost
// the share that it may abandon, before the stage is invalid. The certificate judges its CPU
// usage. Bursts of arrivals saturate a generator that uses less of its CPUs than the certificate
// allows, but hardly one below the share saturated.
const (
	mostLate  = .01
	mostLost  = .005
	saturated = .5
)

// report records the load's usage of its own machine, and whether it kept up with its
// schedule.
func (b *Merger) report(ran time.Duration) {
	cpu := load.ProcessCPU() - b.cpu
	b.out.Value("client.cpu", cpu.Seconds()/ran.Seconds())
	b.out.Value("client.gap", b.strain.gap.Seconds())
	if b.counted > 0 {
		b.out.Value("client.cpu_per_operation", cpu.Seconds()/float64(b.counted))
	}
	busy := max(0, cpu-b.strain.spun).Seconds() / ran.Seconds() / float64(b.sheets)
	if !b.job.Work {
		b.out.Value("generator.cpu", busy)
		if waited := b.waited(ran); waited > 0 { // unknown for goroutines
			b.out.Value(measure.GeneratorWaited, waited)
		}
	}
	b.out.Check(b.generator(busy, ran))
	b.out.Check(b.accounting())
	if b.trouble != nil {
		b.out.Check(*b.trouble)
	}
}

// waited is the share of the time that the threads were runnable and waited for a CPU.
func (b *Merger) waited(ran time.Duration) float64 {
	return b.life.starved.Seconds() / ran.Seconds() / float64(b.sheets)
}

// generator checks whether the generator was the bottleneck. An operation that waited for a
// free slot was delayed by the system under test; one that started late with slots free, by
// the generator.
func (b *Merger) generator(busy float64, ran time.Duration) measure.Check {
	all := float64(max(1, b.offer.Scheduled))
	own := float64(b.offer.Late-b.strain.blocked) / all
	lost := float64(b.strain.lost) / all
	check := measure.Check{Name: "generator", State: measure.Pass, Detail: fmt.Sprintf(
		"%d threads used %.3g %% of their CPUs, longest gap %s", b.sheets, 100*busy, b.strain.gap.Round(time.Microsecond))}
	if waited := b.waited(ran); waited > 0 { // unknown for goroutines
		check.Detail += fmt.Sprintf("; they waited for a CPU %.3g %% of the time", 100*waited)
	}
	if b.job.Open() {
		check.Detail += fmt.Sprintf("; of %d operations %.3g %% were started late by the generator, %.3g %% waited for a free slot, %.3g %% were abandoned",
			b.offer.Scheduled, 100*own, 100*float64(b.strain.blocked)/all, 100*float64(b.offer.Abandoned)/all)
	}
	if own > mostLate || lost > mostLost {
		cause := "the generator was saturated"
		if busy < saturated {
			cause = "the generator was late without being saturated, as on a busy host or under a CPU quota"
		}
		check.State, check.Detail = measure.Fail, cause+": "+check.Detail
	}
	return check
}

// accounting checks that every operation has exactly one end: the counts of the sheets against
// the operations that the loop still had in flight, and against the sum of the intervals.
func (b *Merger) accounting() measure.Check {
	l, o := b.life, b.offer
	check := measure.Check{Name: "accounting", State: measure.Pass, Detail: fmt.Sprintf(
		"%d scheduled = %d started + %d abandoned; of those started %d ended and %d were under way when the load ended",
		l.scheduled, l.started, l.abandoned, l.ended, l.underWay)}
	whole := !b.ended.Load()
	switch {
	case l.scheduled != l.started+l.abandoned, l.started != l.ended+l.underWay:
		check.State = measure.Fail
	case b.counted+l.outside > l.ended, whole && b.counted+l.outside != l.ended:
		check.State = measure.Fail
		check.Detail += fmt.Sprintf(", and the intervals hold %d", b.counted)
	case o.Scheduled != o.OnTime+o.Late+o.Abandoned, whole && b.job.Open() && o.Scheduled != l.scheduled:
		check.State = measure.Fail
		check.Detail += fmt.Sprintf("; the intervals hold %d = %d on time + %d late + %d abandoned", o.Scheduled, o.OnTime, o.Late, o.Abandoned)
	}
	return check
}

func (l *life) add(other life) {
	l.scheduled += other.scheduled
	l.started += other.started
	l.abandoned += other.abandoned
	l.ended += other.ended
	l.outside += other.outside
	l.underWay += other.underWay
	l.starved += other.starved
}

func (s *lateness) add(other lateness) {
	s.blocked += other.blocked
	s.lost += other.lost
	s.gap = max(s.gap, other.gap)
	s.spun += other.spun
}
