package trial

import (
	"math"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
)

const (
	stallOperations = 3   // fewest slow operations that make a stall
	stallShare      = .5  // of the operations that were due in it which must have been slow
	stallServed     = .5  // share of the offered rate that may be completed in it
	stallIntervals  = 4   // that a stall must last until what is completed in it can be told
	stallFallback   = .1  // seconds of a response time that counts as slow where no response time is limited
	wholeProbe      = .75 // of a probe: a slow time as long as that is no stall
)

// stalls finds the times of a probe in which next to nothing was completed: operations
// that were due then are slow, from the first, which waited longest, to the last. Near
// its limit a queue is slow for a while too, but goes on completing; where a time is too
// short for the intervals to show that, it counts far below the limit alone.
func (a *attempt) stalls(p *measure.Probe, intervals []measure.Interval) (all []measure.Stall) {
	slow := a.slow()
	length := intervals[len(intervals)-1].To
	for i := 0; i < len(intervals); i++ {
		if n, _ := intervals[i].Slow(slow); n == 0 {
			continue
		}
		first := i
		count, longest, end := int64(0), time.Duration(0), time.Duration(0)
		for ; i < len(intervals); i++ {
			n, most := intervals[i].Slow(slow)
			if n == 0 && completed(intervals[i:i+1]) > 0 {
				break
			}
			count += n
			if most > longest {
				longest, end = most, intervals[i].To
			}
		}
		from := max(0, end-longest)
		due := p.Rate * (longest - slow).Seconds()
		step := intervals[first].To - intervals[first].From
		switch {
		case longest.Seconds() < 2*p.Values["client.gap"]: // the generator stood still, not the system
		case count < stallOperations || float64(count) < stallShare*due || longest > time.Duration(wholeProbe*float64(length)):
		case longest >= stallIntervals*step && servedIn(intervals, from+step, end-step) > stallServed*p.Rate:
		case longest < stallIntervals*step && p.Phase != string(peak.Floor):
		default:
			all = append(all, measure.Stall{At: p.Began + from.Seconds(), Seconds: longest.Seconds()})
		}
	}
	return all
}

// slow is the response time beyond which an operation is slow: the shortest that is
// limited.
func (a *attempt) slow() time.Duration {
	least := math.Inf(1)
	for _, l := range a.limits() {
		if _, ok := measure.QuantileOf(l.Metric); ok {
			least = min(least, *l.Max)
		}
	}
	if math.IsInf(least, 1) {
		least = stallFallback
	}
	return time.Duration(least * 1e9)
}

func completed(intervals []measure.Interval) (n float64) {
	for _, in := range intervals {
		for _, s := range in.Samples {
			n += float64(s.Operations)
		}
	}
	return n
}

// servedIn is the rate at which operations were completed in the intervals that lie
// between two instants.
func servedIn(intervals []measure.Interval, from, to time.Duration) float64 {
	n, seconds := 0., 0.
	for _, in := range intervals {
		if in.From >= from && in.To <= to {
			n += completed([]measure.Interval{in})
			seconds += (in.To - in.From).Seconds()
		}
	}
	if seconds == 0 {
		return 0
	}
	return n / seconds
}
