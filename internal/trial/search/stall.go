package search

import (
	"math"
	"slices"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/stat"
)

const (
	stallOperations = 3   // fewest slow operations that make a stall
	stallShare      = .5  // of the operations that were due in it which must have been slow
	stallServed     = .5  // share of the offered rate that may be completed in it
	stallIntervals  = 4   // that a stall must last until what is completed in it can be told
	stallFallback   = .1  // seconds of a response time that counts as slow where no response time is limited
	wholeProbe      = .75 // of a probe: a slow time as long as that is no stall
	stallChance     = .01 // of a false alarm in a probe whose operations are slow one by one
)

// bin is an interval of a probe: how many operations were completed in it, the response
// times of those that were slow, and how late operations were started at most.
type bin struct {
	from, to  time.Duration
	completed int
	slow      []time.Duration
	lag       time.Duration
}

// stalls finds the times of a probe in which next to nothing was completed: operations
// that were due then are slow, from the first, which waited longest, to the last. Near
// its limit a queue is slow for a while too, but goes on completing; where a time is too
// short for the intervals to show that, it counts far below the limit alone, and where
// slow operations that come one by one, as in the tail of a distribution, do not explain it.
func (l *limits) stalls(p *measure.Probe, intervals []measure.Interval) (all []measure.Stall) {
	slow := l.slow()
	bins := make([]bin, len(intervals))
	for i, in := range intervals {
		bins[i] = bin{in.From, in.To, completed(in), in.Slow(slow), in.Lag()}
	}
	bunch, gap := bunched(bins), p.Values["client.gap"]
	var doubtful []measure.Stall
	length := bins[len(bins)-1].to
	for i := 0; i < len(bins); i++ {
		if len(bins[i].slow) == 0 {
			continue
		}
		first := i
		count, longest, end, lag := 0, time.Duration(0), time.Duration(0), time.Duration(0)
		for ; i < len(bins) && (len(bins[i].slow) > 0 || bins[i].completed == 0); i++ {
			count += len(bins[i].slow)
			lag = max(lag, bins[i].lag)
			for _, t := range bins[i].slow {
				if t > longest {
					longest, end = t, bins[i].to
				}
			}
		}
		from := max(0, end-longest)
		due := p.Rate * (longest - slow).Seconds()
		step := bins[first].to - bins[first].from
		switch {
		// The generator stood still then, not the system. A longer lag is that of operations
		// that waited for a free connection.
		case longest.Seconds() < 2*min(lag.Seconds(), gap):
		case count < stallOperations || float64(count) < stallShare*due || longest > time.Duration(wholeProbe*float64(length)):
		case longest >= stallIntervals*step && servedIn(bins, from+step, end-step) > stallServed*p.Rate:
		case longest < stallIntervals*step && p.Phase != string(peak.Floor):
		case !slices.Contains(bunch[first:min(i, len(bins))], true):
		default:
			s := measure.Stall{At: p.Began + from.Seconds(), Seconds: longest.Seconds()}
			if doubtful = append(doubtful, s); longest.Seconds() >= 2*gap {
				all = append(all, s)
			}
		}
	}
	if periodic(doubtful) {
		return doubtful
	}
	return all
}

// periodic says that stalls come at equal intervals: then they are the system's, even on a
// host that takes CPUs away for as long as they last.
func periodic(stalls []measure.Stall) bool {
	var gaps []float64
	for i := 1; i < len(stalls); i++ {
		gaps = append(gaps, stalls[i].At-stalls[i-1].At)
	}
	_, ok := peak.Period(gaps)
	return ok
}

// bunched says of each bin whether more of what was completed in it was slow than happens
// where operations are slow one by one: the chance of as many, were the slow operations of
// the probe dealt at random (the hypergeometric law), held against stallChance for all bins
// together (Benjamini and Hochberg 1995).
func bunched(bins []bin) []bool {
	all, slow := 0, 0
	for _, b := range bins {
		all += b.completed
		slow += len(b.slow)
	}
	chances := make([]float64, len(bins))
	for i, b := range bins {
		chances[i] = stat.HypergeometricTail(len(b.slow), b.completed, slow, all)
	}
	out := make([]bool, len(bins))
	for i, c := range stat.BenjaminiHochberg(chances) {
		out[i] = c <= stallChance
	}
	return out
}

// slow is the response time beyond which an operation is slow: the shortest that is
// limited.
func (l *limits) slow() time.Duration {
	least := math.Inf(1)
	for _, limit := range l.within {
		if _, ok := measure.QuantileOf(limit.Metric); ok {
			least = min(least, *limit.Max)
		}
	}
	if math.IsInf(least, 1) {
		least = stallFallback
	}
	return time.Duration(least * 1e9)
}

func completed(in measure.Interval) (n int) {
	for _, s := range in.Samples {
		n += int(s.Operations)
	}
	return n
}

// servedIn is the rate at which operations were completed in the intervals that lie
// between two instants.
func servedIn(bins []bin, from, to time.Duration) float64 {
	n, seconds := 0, 0.
	for _, b := range bins {
		if b.from >= from && b.to <= to {
			n += b.completed
			seconds += (b.to - b.from).Seconds()
		}
	}
	if seconds == 0 {
		return 0
	}
	return float64(n) / seconds
}
