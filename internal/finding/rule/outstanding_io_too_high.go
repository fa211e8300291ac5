package rule

import (
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// outstandingIOTooHigh finds a device with more concurrent operations than it can serve in
// parallel, if the goal is low latency: the rest only queue.
var outstandingIOTooHigh = Rule{
	Name:  "outstanding_io_too_high",
	Doc:   "the goal is low latency, and more operations are outstanding than the device serves in parallel",
	Needs: []string{"disk.busy", "mean"},
	Disks: true, Closed: true,
	Check: func(c *Case, arm int) *Found {
		n, closed := c.inFlight(arm)
		if !closed || !leastLatency(c) || !tooMany(c, arm, n) {
			return nil
		}
		change, share, ok := halved(c, arm)
		if !ok || breaksFloor(c, arm, n*share, share) {
			return nil
		}
		queue, atDevice, _ := c.queueSeen(arm)
		where := "in flight by Little's law"
		if atDevice {
			where = "in the device queue"
		}
		busy, _ := c.Table.Mean(arm, "disk.busy")
		f := &Found{
			Says:  "Too many outstanding I/Os for low latency with {arm}: {outstanding per disk} per disk, {queue seen} {where}. The device is busy {device busy} of the time",
			Grade: finding.AccountsFor, Change: change, Gain: halvingGain(c, arm, share),
			Names: map[string]string{"where": where},
			Evidence: []finding.Evidence{
				evidence("outstanding per disk", n/c.disks(arm), "1"), evidence("queue seen", queue, "1"), evidence("device busy", busy, "share"),
			},
		}
		if s, ok := depthNear(c, arm); ok {
			f.Evidence = append(f.Evidence, evidence("outstanding grew", s.outstanding, "1"), evidence("rate grew", s.rate, "1"), evidence("latency grew", s.latency, "1"))
			f.Says += ". {outstanding grew} times as many gave {rate grew} times the {rate} at {latency grew} times the latency"
		}
		f.Says += ". Lower {factor} from {from} to {to}."
		return f
	},
}

// leastLatency reports whether the goal is to minimise a time.
func leastLatency(c *Case) bool {
	g := c.Table.Study.Goal
	return g != nil && g.Direction == measure.LowerIsBetter && c.Table.Metric(g.Metric).Unit == "s"
}

// tooMany decides by latency against depth if arms of the study show it, else by utilisation
// and queue length. A step from the next fewer is conclusive. One to the next more only shows
// that the knee is not above: whether it is below is open on a saturated device, and fresh
// blocks decide.
func tooMany(c *Case, arm int, n float64) bool {
	if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
		return false
	}
	if s, ok := c.depthBelow(arm); ok {
		return s.latencyElasticity >= steepLatency
	}
	busy, ok := c.Table.Mean(arm, "disk.busy")
	if !ok || busy < busyDevice {
		return false
	}
	if s, ok := c.depthAbove(arm); ok {
		return s.latencyElasticity >= steepLatency
	}
	queue, _, ok := c.queueSeen(arm)
	few := fewOutstanding * c.disks(arm)
	return ok && n > few && queue > few && queue <= othersToo*n
}

// depthNear is the step that decides about an arm: from the next fewer, else to the next more.
func depthNear(c *Case, arm int) (depthStep, bool) {
	if s, ok := c.depthBelow(arm); ok {
		return s, true
	}
	return c.depthAbove(arm)
}

// halved is the change that halves the outstanding operations, with the share that is left:
// threads first, as each costs CPU, then the depth of each.
func halved(c *Case, arm int) (change *finding.Change, share float64, ok bool) {
	for _, p := range []string{"threads", "concurrency", "depth"} {
		text, _ := c.Table.Setting(arm, p)
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || p == "depth" && synchronous(c, arm) {
			continue
		}
		to := n / 2
		return &finding.Change{Factor: c.Table.Study.Workload.Kind + "." + p, From: strconv.Itoa(n), To: strconv.Itoa(to)}, float64(to) / float64(n), true
	}
	return nil, 0, false
}

// breaksFloor reports whether a floor of the goal would be missed with so many outstanding
// operations, a share of the arm's: an arm with as many misses it, or the upper bound of the
// remaining rate does.
func breaksFloor(c *Case, arm int, outstanding, share float64) bool {
	left := MostLeft(c, arm, share)
	for _, floor := range c.Table.Study.Goal.Floor {
		if floor.Min == nil || !strings.HasSuffix(c.Table.Metric(floor.Metric).Unit, "/s") {
			continue
		}
		least := *floor.Min * (1 - c.Table.Study.Margin)
		if x, ok := c.Table.Mean(arm, floor.Metric); ok && x*left < least {
			return true
		}
		if other, ok := armWith(c, arm, outstanding); ok {
			if x, ok := c.Table.Mean(other, floor.Metric); ok && x < least {
				return true
			}
		}
	}
	return false
}

// MostLeft is an upper bound of the rate that remains with a share of the outstanding
// operations. In a closed loop the rate is concave in their number, so a line through two
// points is an upper bound beyond them. Source: Dowdy, Eager, Gordon & Saxton, Inf. Process.
// Lett. 19 (1984), for product-form networks.
func MostLeft(c *Case, arm int, share float64) float64 {
	s, ok := depthNear(c, arm)
	if !ok {
		return 1
	}
	outstanding, rate := s.outstanding, s.rate // of the other arm, relative to this one
	if s.more == arm {
		outstanding, rate = 1/outstanding, 1/rate
	}
	if outstanding < 1 && share > outstanding {
		return 1
	}
	return min(1, 1-(1-share)*(rate-1)/(outstanding-1))
}

// armWith is the arm that differs from the given one in depth only, with the given number of
// outstanding operations.
func armWith(c *Case, arm int, outstanding float64) (other int, ok bool) {
	for other := range c.Table.Arms {
		if n, ok := c.inFlight(other); ok && n == outstanding && other != arm && c.onlyDepthDiffers(arm, other) {
			return other, true
		}
	}
	return 0, false
}

// halvingGain predicts the effect on mean latency: the measured one if an arm has as many
// outstanding operations, else by Little's law. It is unknown with think times.
func halvingGain(c *Case, arm int, share float64) *finding.Gain {
	n, _ := c.inFlight(arm)
	if other, ok := armWith(c, arm, n*share); ok && arm == 0 {
		for i := range c.Headlines {
			if h := &c.Headlines[i]; h.Arm == other && h.Metric.Name == c.Table.Study.Goal.Metric && !h.NoInterval {
				return &finding.Gain{Low: h.Low - 1, High: h.High - 1, Basis: "measured in the blocks that suggest it"}
			}
		}
	}
	if c.Table.Demands[arm].Think > 0 {
		return nil
	}
	return &finding.Gain{Low: share - 1, Basis: "Little's law for the mean: no gain if the rate falls as much, the full gain if the rate stays"}
}
