package storage

import (
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	leastHeld      = 0.5  // share of requests in flight that the scheduler keeps from the driver; a part of the time of any request is round trip
	slowRotation   = 0.02 // seconds: two random accesses of a rotating disk
	unknownDepth   = 32   // requests that a driver takes, if the kernel does not say
	lessThanDriver = 0.5  // of the driver's depth: it would take more
)

// withholding are the schedulers that keep requests back although the driver has room: bfq and cfq
// idle for the next request of a process, kyber limits each kind of request. Others pass on what
// the driver takes, so requests that they hold wait for the device.
var withholding = []string{"bfq", "cfq", "kyber"}

// ioScheduler finds schedulers that keep requests from a device which would take them. A device
// that is saturated looks alike: its driver holds as many requests as it takes, and a scheduler
// orders the others. Sorting for a rotating disk is what a scheduler is for.
var ioScheduler = diagnosis.Rule{
	Name: "io_scheduler", Area: diagnosis.Storage,
	Doc:      "the I/O scheduler keeps requests from a device that would take them",
	Needs:    []string{"disks", "processes"},
	Explains: []string{"device_ceiling", "queue_depth_low", "disk_neighbour", "fsync_storm"},
	Check: sometimesToo(func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for n := range e.Mean.Disks {
			d := &e.Mean.Disks[n]
			w, waiting := sufferer(e)
			chosen := queue(e, d.Name, "scheduler")
			if w == nil || chosen == "" {
				continue
			}
			if f, ok := unsorted(e, d, chosen); ok {
				found = append(found, f)
			}
			held := d.ReadTime + d.WriteTime - d.InDriver // flushes are with neither
			room := e.Facts.Disks[d.Name].Depth
			if room == 0 {
				room = unknownDepth
			}
			if !slices.Contains(withholding, chosen) || rotates(e, d) || inUse(d) < crowded || held < 0.5 || held < leastHeld*d.QueueTime || d.InDriver > lessThanDriver*room {
				continue
			}
			share := held / d.QueueTime
			found = append(found, diagnosis.Finding{
				Subject:    w.Subject(),
				Confidence: diagnosis.Likely,
				Impact:     min(1, share*waiting),
				Says:       "Scheduler " + chosen + " keeps {held} of {in flight} requests from " + d.Name + ", whose driver takes {room} at a time; {subject} waits {waiting} of its time for storage.",
				Evidence: []diagnosis.Fact{
					diagnosis.Number("held", held), diagnosis.Number("in flight", d.QueueTime), diagnosis.Number("in the driver", d.InDriver),
					diagnosis.Number("room", room), diagnosis.Seconds("response time", latency(d)), diagnosis.Share("waiting", waiting),
				},
				Change:     &diagnosis.Change{Says: "use no scheduler on " + d.Name, Command: "echo none > /sys/block/" + d.Name + "/queue/scheduler"},
				Prediction: &diagnosis.Prediction{Low: -share, High: -share / 2, Of: "response time", Basis: "the share of a request's time that it is with the scheduler"},
			})
		}
		return found
	}),
}

// sufferer is the program that waits for storage most, threads that wait for asynchronous I/O
// included, and the share of its time.
func sufferer(e *diagnosis.Evidence) (*diagnosis.Program, float64) {
	var most *diagnosis.Program
	cost := leastCost
	for _, p := range e.Services() {
		io := p.IO()
		if io.Bytes() == 0 || !e.Asked(p.Processes[0]) {
			continue
		}
		if c := p.Costs(io.Blocked + io.In(asynchronous...)); c >= cost {
			most, cost = p, c
		}
	}
	return most, cost
}

// unsorted finds a rotating disk without a scheduler that many requests wait for.
func unsorted(e *diagnosis.Evidence, d *hoststat.Disk, chosen string) (diagnosis.Finding, bool) {
	const several = 4
	if chosen != "none" || !rotates(e, d) || inUse(d) < crowded || depth(d) < several || latency(d) < slowRotation || len(e.Facts.Disks[d.Name].Below) > 0 {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Subject:    d.Name,
		Confidence: diagnosis.Possible,
		Impact:     leastCost,
		Says:       "{subject} is a rotating disk without an I/O scheduler, and {in flight} requests wait for it {response time} each.",
		Evidence:   []diagnosis.Fact{diagnosis.Number("in flight", depth(d)), diagnosis.Seconds("response time", latency(d))},
		Change:     &diagnosis.Change{Says: "use a scheduler that orders requests and bounds their wait", Command: "echo mq-deadline > /sys/block/" + d.Name + "/queue/scheduler"},
	}, true
}
