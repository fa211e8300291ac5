package rule

import (
	"math"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

const (
	fallLimit = 0.05 // fall over the window, as a share, that is reported
	stepLimit = 0.80 // rate after a step relative to the rate before
	stepEdge  = 0.10 // smallest share of the intervals on each side of a step
)

// writeCacheExhausted finds writes that slow down once a cache is full.
var writeCacheExhausted = Rule{
	Name:  "write_cache_exhausted",
	Doc:   "writes slow down within the trial, as when a write cache is full and drains to the medium",
	Disks: true,
	Check: func(c *Case, arm int) *Found {
		if !writes(c, arm) {
			return nil
		}
		if step, share := steps(c, arm); share > 0.5 {
			return accounts("A write cache was exhausted with {arm}: within a trial, {rate} drops in one step to {after the step} of its former value. Measure longer, or precondition, for the sustained rate.", evidence("after the step", step, "share"), evidence("trials with a step", share, "share"))
		}
		fall, share := falls(c, arm)
		if share <= 0.5 {
			return nil
		}
		return &Found{
			Says:  "Writes slow down with {arm}: {rate} falls by {fall} over the window, as it does when a write cache fills. Measure longer, or precondition, for the sustained rate.",
			Grade: finding.MovedWith, Evidence: []finding.Evidence{evidence("fall", fall, "share"), evidence("trials that fall", share, "share")},
		}
	},
}

// writes reports whether the arm has writes.
func writes(c *Case, arm int) bool {
	for _, class := range c.Table.Demands[arm].Classes {
		if class.Name == "write" && class.Share > 0 {
			return true
		}
	}
	return false
}

// falls is the mean fall over the window of the falling trials, and their share.
func falls(c *Case, arm int) (fall, share float64) {
	n, all := 0, 0
	for i := range c.Table.Records {
		r := &c.Table.Records[i]
		if r.Arm != arm || r.Window.End <= 0 {
			continue
		}
		all++
		if r.Window.Steady == measure.Drifting && r.Window.Drift < -fallLimit {
			fall -= r.Window.Drift
			n++
		}
	}
	return fall / float64(max(1, n)), float64(n) / float64(max(1, all))
}

// steps is the mean rate after a step down relative to before, and the share of trials with
// time series that have one.
func steps(c *Case, arm int) (after, share float64) {
	n, all := 0, 0
	for i := range c.Table.Records {
		r := &c.Table.Records[i]
		series, ok := c.Table.Series[r.Trial]
		if r.Arm != arm || !ok {
			continue
		}
		all++
		if ratio, ok := StepDown(series.Rate); ok {
			after += ratio
			n++
		}
	}
	return after / float64(max(1, n)), float64(n) / float64(max(1, all))
}

// StepDown fits two levels to x, and returns the second relative to the first. ok is false
// unless it is a fall that two levels fit much better than a slope.
func StepDown(x []float64) (ratio float64, ok bool) {
	n := len(x)
	edge := max(3, int(math.Ceil(stepEdge*float64(n))))
	if n < 2*edge+2 {
		return 0, false
	}
	var sum, squares, slope, spread float64
	for i, v := range x {
		sum += v
		squares += v * v
		at := float64(i) - float64(n-1)/2
		slope += at * v
		spread += at * at
	}
	total := squares - sum*sum/float64(n)
	line := total - slope*slope/spread
	best := math.Inf(1)
	var left float64
	for i := range n - edge {
		left += x[i]
		k := float64(i + 1)
		if i+1 < edge {
			continue
		}
		a, b := left/k, (sum-left)/(float64(n)-k)
		if rest := squares - a*a*k - b*b*(float64(n)-k); rest < best && a > 0 {
			best, ratio = rest, b/a
		}
	}
	return ratio, ratio < stepLimit && best < 0.5*line
}
