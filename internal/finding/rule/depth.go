package rule

import (
	"encoding/json"
	"math"
	"strconv"

	"plimsoll/internal/quantity"
)

// inFlight is the number of outstanding operations of an arm, if known: the demand's in a
// closed loop.
func (c *Case) inFlight(arm int) (float64, bool) {
	d, ok := c.Table.Demands[arm]
	return float64(d.Concurrency), ok && d.Concurrency > 0 && !c.Table.Paced(arm)
}

// disks is the number of files or devices of an arm's workload.
func (c *Case) disks(arm int) float64 {
	var targets []string
	if list, ok := c.Table.Setting(arm, "targets"); ok && json.Unmarshal([]byte(list), &targets) == nil && len(targets) > 0 {
		return float64(len(targets))
	}
	text, _ := c.Table.Setting(arm, "disks")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return float64(n)
	}
	return 1
}

// queueSeen is the number of outstanding operations: at the device if its queue is counted,
// else by Little's law from rate and mean latency.
func (c *Case) queueSeen(arm int) (queue float64, atDevice, ok bool) {
	if q, ok := c.Table.Mean(arm, "disk.queue"); ok && q > 0 {
		return q, true, true
	}
	x, hasRate := c.Table.Mean(arm, c.Table.Rate)
	r, hasMean := c.Table.Mean(arm, "mean")
	return x * r, false, hasRate && hasMean
}

// generatorShare is the utilisation of the load generator's CPUs, over all trials of the arm.
func (c *Case) generatorShare(arm int) (float64, bool) {
	return c.Table.MeanOfAll(arm, "generator.cpu")
}

// depthStep is the effect of more outstanding operations between two arms.
type depthStep struct {
	fewer, more       int     // arms
	outstanding       float64 // ratio, above 1
	rate, latency     float64 // ratios
	latencyElasticity float64 // 0: latency unchanged; 1: proportional to the outstanding operations
}

// depthBelow is the step from the arm with the next fewer outstanding operations.
func (c *Case) depthBelow(arm int) (depthStep, bool) {
	return nearestDepth(c, arm, func(other, own float64) bool { return other < own })
}

// depthAbove is the step to the arm with the next more outstanding operations.
func (c *Case) depthAbove(arm int) (depthStep, bool) {
	return nearestDepth(c, arm, func(other, own float64) bool { return other > own })
}

func nearestDepth(c *Case, arm int, beyond func(other, own float64) bool) (depthStep, bool) {
	own, ok := c.inFlight(arm)
	if !ok {
		return depthStep{}, false
	}
	best, distance := -1, math.Inf(1)
	for other := range c.Table.Arms {
		n, ok := c.inFlight(other)
		if !ok || !beyond(n, own) || !c.onlyDepthDiffers(arm, other) {
			continue
		}
		if d := math.Abs(math.Log(n / own)); d < distance {
			best, distance = other, d
		}
	}
	if best < 0 {
		return depthStep{}, false
	}
	s := depthStep{fewer: best, more: arm}
	if n, _ := c.inFlight(best); n > own {
		s.fewer, s.more = arm, best
	}
	return s, measureStep(c, &s)
}

func measureStep(c *Case, s *depthStep) bool {
	ratio := func(name string) (float64, bool) {
		a, ok := c.Table.Mean(s.fewer, name)
		b, found := c.Table.Mean(s.more, name)
		return b / a, ok && found && a > 0 && b > 0
	}
	var okRate, okMean bool
	s.rate, okRate = ratio(c.Table.Rate)
	s.latency, okMean = ratio("mean")
	a, _ := c.inFlight(s.fewer)
	b, _ := c.inFlight(s.more)
	s.outstanding = b / a
	s.latencyElasticity = math.Log(s.latency) / math.Log(s.outstanding)
	return okRate && okMean
}

// leastLatencyRatio is by how much more outstanding operations may shorten the mean
// response time before that is noise: in a closed loop each added operation can only wait,
// or leave the others as they are.
const leastLatencyRatio = 0.95

// impossibleStep says why a step of depth next to the arm is implausible for a queue: then
// noise exceeds the effects that the rules look for, and they do not fire.
func (c *Case) impossibleStep(arm int) string {
	for _, step := range []func(int) (depthStep, bool){c.depthBelow, c.depthAbove} {
		if s, ok := step(arm); ok && s.latency < leastLatencyRatio {
			return "with " + quantity.Of(s.outstanding, "1") + " times the outstanding operations, mean response time was " + quantity.Of(s.latency, "1") + " times as long: no queue does that, so it is noise"
		}
	}
	return ""
}

// onlyDepthDiffers reports whether two arms differ in threads and depth only.
func (c *Case) onlyDepthDiffers(a, b int) bool {
	for _, f := range c.Table.Study.Factors {
		if f.Parameter == "threads" || f.Parameter == "depth" {
			continue
		}
		if c.Table.Plan.Arms[a].Levels[f.FullName()] != c.Table.Plan.Arms[b].Levels[f.FullName()] {
			return false
		}
	}
	return true
}
