package finding

import (
	"math"
	"strconv"
	"strings"
)

const (
	fewOutstanding = 2    // a disk, below which most devices have servers to spare
	idleDevice     = 0.90 // share of time below which a device waits for work
	deepEnough     = 64   // a disk, from where an idle device has another cause
	flatLatency    = 0.5  // elasticity below which more outstanding operations pay: doubling them gives 41 % or more
	othersToo      = 1.5  // times the load's own operations in the queue, from where something else uses the device
	manyThreads    = 16   // a disk, from where depth is raised instead, as threads cost CPU
)

// outstandingIOTooLow finds a device that gets too few operations at once.
func outstandingIOTooLow() Rule {
	const name = "outstanding_io_too_low"
	return Rule{
		Name:  name,
		Doc:   "the device could serve more operations at once than the load keeps outstanding",
		Needs: []string{"disk.queue|mean"},
		Disks: true, Closed: true,
		Check: func(c *Case, arm int) []Explanation {
			n, closed := c.inFlight(arm)
			queue, atDevice, ok := c.queueSeen(arm)
			if !closed || !ok || c.leastLatency() || !c.tooFew(arm, n/c.disks(arm)) {
				return nil
			}
			change, ok := c.doubled(arm)
			if !ok {
				return nil
			}
			where := "in flight by Little's law"
			if atDevice {
				where = "in the queue of the device"
				if queue > othersToo*n {
					where += ", which others use too"
				}
			}
			f := Found{
				Rule: name, Arm: arm, Grade: AccountsFor, Change: change, Gain: c.doublingGain(arm, change),
				Names:    map[string]string{"where": where},
				Evidence: []Evidence{{"outstanding a disk", n / c.disks(arm), "1"}, {"queue seen", queue, "1"}},
			}
			template := "Outstanding I/Os are too low with {arm}: {outstanding a disk} a disk, {queue seen} {where}"
			if busy, ok := c.Mean(arm, "disk.busy"); ok {
				f.Evidence = append(f.Evidence, Evidence{"device busy", busy, "share"})
				template += "; it is busy {device busy} of the time"
			}
			if s, ok := c.depthBelow(arm); ok {
				f.Evidence = append(f.Evidence, Evidence{"outstanding grew", s.outstanding, "1"}, Evidence{"latency grew", s.latency, "1"})
				template += "; {outstanding grew} times as many made latency only {latency grew} times as long"
			}
			return []Explanation{c.Explain(template+". Raise {factor} from {from} to {to}.", f)}
		},
	}
}

// tooFew judges by latency against depth where arms of the study show it, else by
// what is outstanding and how idle the device is.
func (c *Case) tooFew(arm int, perDisk float64) bool {
	if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
		return false
	}
	if cached, ok := c.readsCached(arm); ok && cached < cachedReads {
		return false
	}
	if s, ok := c.depthBelow(arm); ok {
		return s.latencyElasticity < flatLatency
	}
	if s, ok := c.depthAbove(arm); ok {
		return s.rate > 1+c.Study.Margin
	}
	busy, ok := c.Mean(arm, "disk.busy")
	return perDisk < fewOutstanding || ok && busy < idleDevice && perDisk < deepEnough
}

// doubled is the change that doubles what is outstanding: threads, or the depth of
// each where threads are many and the engine can have more than one I/O in flight.
func (c *Case) doubled(arm int) (*Change, bool) {
	parameter := ""
	for _, p := range []string{"threads", "concurrency", "depth"} {
		if text, ok := c.Setting(arm, p); ok {
			n, err := strconv.Atoi(text)
			if err == nil && n > 0 && parameter == "" {
				parameter = p
			}
		}
	}
	if parameter == "" {
		return nil, false
	}
	text, _ := c.Setting(arm, parameter)
	n, _ := strconv.Atoi(text)
	if deep, ok := c.Setting(arm, "depth"); ok && n >= manyThreads && parameter == "threads" && !c.synchronous(arm) {
		if d, err := strconv.Atoi(deep); err == nil && d > 0 {
			parameter, n = "depth", d
		}
	}
	return &Change{Factor: c.Study.Workload.Kind + "." + parameter, From: strconv.Itoa(n), To: strconv.Itoa(2 * n)}, true
}

// synchronous says whether the engine of the workload has one I/O in flight for
// each thread, whatever the depth.
func (c *Case) synchronous(arm int) bool {
	engine, ok := c.Setting(arm, "engine")
	return ok && (strings.Contains(engine, "sync") || engine == "mmap")
}

// doublingGain predicts what the change brings: what an arm of the study saw, if
// one has that level, else what Little's law allows.
func (c *Case) doublingGain(arm int, change *Change) *Gain {
	for other := range c.view.arms {
		if c.Plan.Arms[other].Levels[change.Factor] != change.To || arm != 0 {
			continue
		}
		for i := range c.view.headlines {
			if h := &c.view.headlines[i]; h.Arm == other && h.Metric.Name == c.Rate && !h.NoInterval {
				return &Gain{Low: h.Low - 1, High: h.High - 1, Basis: "seen on the blocks that suggest it"}
			}
		}
	}
	g := &Gain{High: 1, Basis: "Little's law: nothing if latency doubles, twice as much if it stays"}
	if s, ok := c.depthBelow(arm); ok {
		g.High = math.Exp2(math.Max(0, 1-s.latencyElasticity)) - 1
		g.Basis = "at most what the last step gave"
	}
	return g
}
