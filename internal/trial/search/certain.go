package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

const (
	leastCertain = .15 // share of a probe after which it may be certain, and
	leastBrief   = 2 * time.Second
	leastWaits   = 20   // limits on response times that it has to take
	looksCertain = 20   // times that a probe of its length is looked at
	levelCertain = .999 // of each interval: there are several looks at several limits
	partsCertain = 10
	clearlyFewer = .5 // of the operations that may be slow, at most, where a limit is kept for certain
	clearlyMore  = 2  // the same where it is missed, at least
	leastSlow    = 30 // operations that are slow, at least
)

// certainty looks at a probe while it runs, and ends it once it has surely passed or failed: far from the peak a fraction of the
// operations tells on which side it is that a quantile needs.
type certainty struct {
	within  []study.Limit // on quantiles
	errors  float64       // most of them per second; infinite without a limit
	want    peak.Probe
	length  time.Duration // of the probe
	settled time.Duration // from when failures count
	looked  time.Duration // when it was looked at last
	passes  bool          // all limits on quantiles are kept
	fails   string        // metric of the limit that is missed
	share   float64       // of slow operations, for that limit
}

// newCertainty is nil for a probe that must run to its end: response times decide nothing without a limit on a quantile, nor beside limits
// of other kinds. A probe does not fail by what is cut off at the beginning of a short one.
func newCertainty(within []study.Limit, window, length time.Duration, want peak.Probe) *certainty {
	cut := min(settling*length.Seconds(), settling/(1-settling)*window.Seconds())
	c := &certainty{length: length, settled: time.Duration(cut * 1e9), want: want, errors: math.Inf(1)}
	for _, l := range within {
		if l.Metric == "errors" && l.Max != nil {
			c.errors = *l.Max
			continue
		}
		if _, ok := measure.QuantileOf(l.Metric); !ok {
			return nil
		}
		c.within = append(c.within, l)
	}
	if len(c.within) == 0 {
		return nil
	}
	return c
}

// enough is called after each interval of the probe.
func (c *certainty) enough(r *measure.Recorder) bool {
	if c == nil {
		return false
	}
	intervals := r.Intervals()
	now := intervals[len(intervals)-1].To
	if c.passes || c.fails != "" {
		return true
	}
	if now < max(time.Duration(leastCertain*float64(c.length)), leastBrief) || now-c.looked < c.length/looksCertain {
		return false
	}
	c.looked = now
	if c.erred(intervals) {
		c.fails = "errors"
		return true
	}
	c.look(intervals, now)
	return c.passes || c.fails != ""
}

// look compares the share of slow operations with what each limit allows.
func (c *certainty) look(intervals []measure.Interval, now time.Duration) {
	// Slow operations at the beginning cannot make it pass.
	counted, settled := intervals[int(settling*float64(len(intervals))):], from(intervals, c.settled)
	last := from(intervals, c.cut())
	kept := 0
	for _, limit := range c.within {
		q, _ := measure.QuantileOf(limit.Metric)
		most := time.Duration(*limit.Max * 1e9)
		if now < leastWaits*most {
			return
		}
		slow := slowShare(settled, classOf(limit.Metric), most)
		if slow.low > clearlyMore*(1-q) && slow.count >= leastSlow || slower(last, classOf(limit.Metric), most) > (1-q)*c.operations(last, now) {
			c.fails, c.share = limit.Metric, slow.share
			return
		}
		if slowShare(counted, classOf(limit.Metric), most).high < clearlyFewer*(1-q) {
			kept++
		}
	}
	c.passes = c.want.Ends == peak.OnDecision && kept == len(c.within)
}

// erred reports whether the part of the probe that counts has more errors already than all of it may have.
func (c *certainty) erred(intervals []measure.Interval) bool {
	errors := int64(0)
	for _, i := range from(intervals, c.cut()) {
		for _, s := range i.Samples {
			errors += s.Errors
		}
	}
	return float64(errors) > c.errors*(c.length-c.cut()).Seconds()
}

// cut is the time from which the operations of a whole probe count.
func (c *certainty) cut() time.Duration { return time.Duration(settling * float64(c.length)) }

// operations is the most operations that can count in a whole probe, by its rate or by what it had so far, three standard errors of random
// arrivals included. One arrival may be several operations.
func (c *certainty) operations(last []measure.Interval, now time.Duration) float64 {
	seen := 0.
	for _, i := range last {
		for _, s := range i.Samples {
			seen += float64(s.Operations)
		}
	}
	whole := (c.length - c.cut()).Seconds()
	all := max(c.want.Rate, seen/(now-c.cut()).Seconds()) * whole
	return all + 3*math.Sqrt(all)
}

// slower counts the operations that took longer.
func slower(intervals []measure.Interval, class string, than time.Duration) (count float64) {
	for i := range intervals {
		count += float64(intervals[i].Slower(class, than))
	}
	return count
}

// from leaves out the intervals that begin before a time.
func from(intervals []measure.Interval, at time.Duration) []measure.Interval {
	n, _ := slices.BinarySearchFunc(intervals, at, func(i measure.Interval, at time.Duration) int { return cmp.Compare(i.From, at) })
	return intervals[n:]
}

// classOf is the class of operations that a quantile is of; empty for all.
func classOf(metric string) string {
	at := strings.LastIndex(metric, ".p")
	return metric[:max(at, 0)]
}

// slowness is a share of slow operations with its interval.
type slowness struct {
	share, low, high float64
	count            int64
}

// slowShare is the share of operations that were slower than allowed, by the means of batches, as operations that follow each other are slow
// together. Where none or all are slow the batches do not differ, and the interval has the width that so many operations give.
//
// Source: Law, Simulation Modeling and Analysis (2015), section 9.5.3, batch means; Hanley & Lippman-Hand (1983), the rule of three.
func slowShare(intervals []measure.Interval, class string, than time.Duration) slowness {
	unknown := slowness{high: 1}
	if len(intervals) < partsCertain {
		return unknown
	}
	var slow, all int64
	shares := make([]float64, partsCertain)
	for part := range partsCertain {
		var partSlow, partAll int64
		for i := part * len(intervals) / partsCertain; i < (part+1)*len(intervals)/partsCertain; i++ {
			partSlow += intervals[i].Slower(class, than)
			for _, s := range intervals[i].Samples {
				if class == "" || s.Class == class {
					partAll += s.Operations
				}
			}
		}
		if partAll == 0 {
			return unknown
		}
		shares[part] = float64(partSlow) / float64(partAll)
		slow, all = slow+partSlow, all+partAll
	}
	share := float64(slow) / float64(all)
	_, spread := stat.Moments(shares)
	margin := math.Sqrt(spread/(partsCertain-1)/partsCertain)*stat.TQuantile(.5+levelCertain/2, partsCertain-1) + 3/float64(all)
	return slowness{share, share - margin, share + margin, slow}
}

// missed is the reason of a probe that failed for certain.
func (c *certainty) missed() string {
	return fmt.Sprintf("%.3g %% of the operations took longer than the limit on %s allows", 100*c.share, c.fails)
}
