package rule

import (
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
)

const (
	fewOutstanding = 2    // per disk, below which most devices have idle capacity
	idleDevice     = 0.90 // utilisation below which a device counts as idle
	deepEnough     = 64   // per disk, above which an idle device has another cause
	flatLatency    = 0.5  // elasticity below which more outstanding operations help: doubling them gives 41 % or more
	othersToo      = 1.5  // queue length as a multiple of the load's own operations, above which other I/O is on the device
	manyThreads    = 16   // per disk, above which depth is raised instead, as threads cost CPU
)

// outstandingIOTooLow finds a device with too few concurrent operations.
var outstandingIOTooLow = Rule{
	Name:  "outstanding_io_too_low",
	Doc:   "the device could serve more operations in parallel than are outstanding",
	Needs: []string{"disk.queue|mean"},
	Disks: true, Closed: true,
	Check: func(c *Case, arm int) *Found {
		n, closed := c.inFlight(arm)
		queue, atDevice, ok := c.queueSeen(arm)
		if !closed || !ok || leastLatency(c) || !tooFew(c, arm, n/c.disks(arm)) {
			return nil
		}
		change, ok := doubled(c, arm)
		if !ok {
			return nil
		}
		where := "in flight by Little's law"
		if atDevice {
			where = "in the device queue"
			if queue > othersToo*n {
				where += ", shared with other I/O"
			}
		}
		f := &Found{
			Says:  "Too few outstanding I/Os with {arm}: {outstanding per disk} per disk, {queue seen} {where}",
			Grade: finding.AccountsFor, Change: change, Gain: doublingGain(c, arm, change),
			Names:    map[string]string{"where": where},
			Evidence: []finding.Evidence{evidence("outstanding per disk", n/c.disks(arm), "1"), evidence("queue seen", queue, "1")},
		}
		if busy, ok := c.Table.Mean(arm, "disk.busy"); ok {
			f.Evidence = append(f.Evidence, evidence("device busy", busy, "share"))
			f.Says += ". The device is busy {device busy} of the time"
		}
		if s, ok := c.depthBelow(arm); ok {
			f.Evidence = append(f.Evidence, evidence("outstanding grew", s.outstanding, "1"), evidence("latency grew", s.latency, "1"))
			f.Says += ". With {outstanding grew} times as many, latency was only {latency grew} times as high"
		}
		f.Says += ". Raise {factor} from {from} to {to}."
		return f
	},
}

// tooFew decides by latency against depth if arms of the study show it, else by outstanding
// operations and utilisation.
func tooFew(c *Case, arm int, perDisk float64) bool {
	if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
		return false
	}
	if cached, ok := readsCached(c, arm); ok && cached < cachedReads {
		return false
	}
	if s, ok := c.depthBelow(arm); ok {
		return s.latencyElasticity < flatLatency
	}
	if s, ok := c.depthAbove(arm); ok {
		return s.rate > 1+c.Table.Study.Margin
	}
	busy, ok := c.Table.Mean(arm, "disk.busy")
	return perDisk < fewOutstanding || ok && busy < idleDevice && perDisk < deepEnough
}

// doubled is the change that doubles the outstanding operations: threads, or the depth of each
// if threads are many and the engine is asynchronous.
func doubled(c *Case, arm int) (*finding.Change, bool) {
	parameter := ""
	for _, p := range []string{"threads", "concurrency", "depth"} {
		if text, ok := c.Table.Setting(arm, p); ok {
			n, err := strconv.Atoi(text)
			if err == nil && n > 0 && parameter == "" {
				parameter = p
			}
		}
	}
	if parameter == "" {
		return nil, false
	}
	text, _ := c.Table.Setting(arm, parameter)
	n, _ := strconv.Atoi(text)
	if deep, ok := c.Table.Setting(arm, "depth"); ok && n >= manyThreads && parameter == "threads" && !synchronous(c, arm) {
		if d, err := strconv.Atoi(deep); err == nil && d > 0 {
			parameter, n = "depth", d
		}
	}
	return &finding.Change{Factor: c.Table.Study.Workload.Kind + "." + parameter, From: strconv.Itoa(n), To: strconv.Itoa(2 * n)}, true
}

// synchronous reports whether the engine of the workload has one I/O in flight per thread,
// whatever the depth.
func synchronous(c *Case, arm int) bool {
	engine, ok := c.Table.Setting(arm, "engine")
	return ok && (strings.Contains(engine, "sync") || engine == "mmap")
}

// doublingGain predicts the effect of the change: the measured one if an arm has that level,
// else by Little's law.
func doublingGain(c *Case, arm int, change *finding.Change) *finding.Gain {
	for other := range c.Table.Arms {
		if c.Table.Plan.Arms[other].Levels[change.Factor] != change.To || arm != 0 {
			continue
		}
		for i := range c.Headlines {
			if h := &c.Headlines[i]; h.Arm == other && h.Metric.Name == c.Table.Rate && !h.NoInterval {
				return &finding.Gain{Low: h.Low - 1, High: h.High - 1, Basis: "measured in the blocks that suggest it"}
			}
		}
	}
	g := &finding.Gain{High: 1, Basis: "Little's law: no gain if latency doubles, twice the rate if latency stays"}
	if s, ok := c.depthBelow(arm); ok {
		g.High = math.Exp2(math.Max(0, 1-s.latencyElasticity)) - 1
		g.Basis = "at most the gain of the last step"
	}
	return g
}
