package agent

import (
	"fmt"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

const (
	// mostLine is the maximum length of a worker's message, in bytes: an interval with all its
	// histograms has some hundred KiB.
	mostLine = 4 << 20
	// mostCount limits the counts of an interval, so that sums do not overflow.
	mostCount = 1 << 50
	// mostClasses is the maximum number of kinds of operations in an interval.
	mostClasses = 1000
	// mostHits is the maximum number of counters in all histograms of a load: compressed, they
	// may be tiny.
	mostHits = 1 << 25
)

// guard checks that the intervals of a worker are plausible for its load: they are contiguous,
// end about when the load does, and have no negative counts. A machine that lies about its
// clock or its work costs its trial, but neither memory nor the study.
type guard struct {
	stage load.Stage
	count int
	last  time.Duration
	hits  int
}

// take checks the next interval.
func (g *guard) take(i *measure.Interval) error {
	g.count++
	most := 1000
	if g.stage.Interval > 0 {
		most += 10 * int((g.stage.Length+tardy)/g.stage.Interval)
	}
	switch {
	case g.count > most:
		return fmt.Errorf("more than %d intervals", most)
	case i.From < g.last || i.To <= i.From:
		return fmt.Errorf("interval %d is from %s to %s, but the previous one ended at %s", g.count, i.From, i.To, g.last)
	case i.To > g.stage.Length+2*tardy:
		return fmt.Errorf("interval %d ends %s after the start of the load, which was planned for %s", g.count, i.To, g.stage.Length)
	case len(i.Samples) > mostClasses:
		return fmt.Errorf("interval %d has %d kinds of operations", g.count, len(i.Samples))
	}
	g.last = i.To
	g.hits += i.Offer.Lag.Hits()
	for _, h := range i.Times {
		g.hits += h.Hits()
	}
	for name, n := range i.Faults {
		if n < 0 || n > mostCount {
			return fmt.Errorf("interval %d counts %d faults %q", g.count, n, name)
		}
	}
	for _, s := range i.Samples {
		g.hits += s.Latency.Hits() + s.Service.Hits()
		for _, n := range []int64{s.Operations, s.Bytes, s.Errors, s.TimedOut, int64(s.Total)} {
			if n < 0 || s.Operations > mostCount {
				return fmt.Errorf("interval %d counts %d of %q", g.count, min(n, s.Operations), s.Class)
			}
		}
	}
	for _, n := range append([]int64{i.Offer.Scheduled, i.Offer.OnTime, i.Offer.Late, i.Offer.Abandoned}, i.Shares...) {
		if n < 0 || n > mostCount {
			return fmt.Errorf("interval %d says that %d operations were due", g.count, n)
		}
	}
	if g.hits > mostHits {
		return fmt.Errorf("the histograms up to interval %d have more than %d counters", g.count, mostHits)
	}
	return nil
}
