package storage

import (
	"fmt"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
)

const (
	atLimit   = 0.9 // of a limit: the kernel's slices of 100 ms let a little go unused
	sometimes = 0.2 // share of the time that counts as often
)

// ioThrottle finds control groups whose limit on block I/O holds their programs back. A limit that
// is not reached, or that a program reaches without waiting, is not one.
var ioThrottle = diagnosis.Rule{
	Name: "io_throttle", Area: diagnosis.Storage,
	Doc:      "a limit of a control group on block I/O holds its programs back",
	Needs:    []string{"groups", "processes", "disks"},
	Explains: []string{"queue_depth_low", "fsync_storm", "writeback_stall", "read_ahead", "device_ceiling", "disk_neighbour", "write_amplification", "checkpoint_backlog", "io_scheduler", "periodic_stall"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for n := range e.Mean.Groups {
			g := &e.Mean.Groups[n]
			w := member(e, g)
			if w == nil {
				continue
			}
			for _, limit := range g.IOLimits {
				rate, unit := limited(g, limit)
				at := e.Times(func(i *hoststat.Interval) bool { return reaches(i, g.Path, limit) })
				if at < sometimes {
					continue
				}
				found = append(found, diagnosis.Finding{
					Subject:    w.Subject(),
					Confidence: diagnosis.Certain,
					Impact:     min(1, max(w.cost, g.IOPressure.Some)),
					Says:       "Control group " + g.Path + " is limited to {limit} " + kinds[limit.Kind] + " " + device(e, limit.Device) + ", and {subject} is at that limit {of the time} of the time: it waits {waiting} of its time.",
					Evidence: []diagnosis.Fact{
						{Name: "limit", Value: limit.Value, Unit: unit}, {Name: "rate", Value: rate, Unit: unit},
						diagnosis.Share("of the time", at), diagnosis.Share("waiting", w.cost),
					},
					Change:     lift(e, g, limit),
					Prediction: unthrottled(e, w, limit, rate),
				})
			}
		}
		return found
	},
}

var kinds = map[string]string{"rbps": "of reads from", "wbps": "of writes to", "riops": "reads from", "wiops": "writes to"}

// member is the program of a group that waits for storage most.
func member(e *diagnosis.Evidence, g *cgroup.Group) *waiter {
	for _, p := range diagnosis.By(e.Services(), func(p *diagnosis.Program) float64 { io := p.IO(); return io.Blocked }) {
		io := p.IO()
		waiting := io.Blocked
		if io.Bytes() > 0 {
			waiting += io.In(asynchronous...)
		}
		if inside(p.Processes[0].IOGroup, g.Path) && waiting >= leastWait && e.Asked(p.Processes[0]) {
			return &waiter{p, io, p.Costs(waiting)}
		}
	}
	return nil
}

// limited is the rate that a limit applies to, and its unit.
func limited(g *cgroup.Group, limit cgroup.IOLimit) (rate float64, unit string) {
	for _, io := range g.IO {
		if io.Device != limit.Device {
			continue
		}
		switch limit.Kind {
		case "rbps":
			return io.ReadBytes, "B/s"
		case "wbps":
			return io.WriteBytes, "B/s"
		case "riops":
			return io.Reads, "1/s"
		case "wiops":
			return io.Writes, "1/s"
		}
	}
	return 0, "B/s"
}

func reaches(i *hoststat.Interval, group string, limit cgroup.IOLimit) bool {
	for n := range i.Groups {
		if i.Groups[n].Path == group {
			rate, _ := limited(&i.Groups[n], limit)
			return rate >= atLimit*limit.Value
		}
	}
	return false
}

// device is the name of a device by its number.
func device(e *diagnosis.Evidence, number string) string {
	for _, d := range e.Mean.Disks {
		if d.Number == number {
			return d.Name
		}
	}
	return number
}

// lift removes a limit.
func lift(e *diagnosis.Evidence, g *cgroup.Group, limit cgroup.IOLimit) *diagnosis.Change {
	c := &diagnosis.Change{Says: "raise or remove the limit of control group " + g.Path + " on " + device(e, limit.Device)}
	c.Command = fmt.Sprintf("echo '%s 0' > %s", limit.Device, limit.File)
	if strings.HasSuffix(limit.File, "/io.max") {
		c.Command = fmt.Sprintf("echo '%s %s=max' > %s", limit.Device, limit.Kind, limit.File)
	}
	property := map[string]string{"rbps": "IOReadBandwidthMax", "wbps": "IOWriteBandwidthMax", "riops": "IOReadIOPSMax", "wiops": "IOWriteIOPSMax"}[limit.Kind]
	if unit, ok := diagnosis.SystemdUnit(g.Path); ok && strings.HasSuffix(g.Path, unit) {
		c.Command = "systemctl set-property --runtime " + unit + " " + property + "="
	}
	return c
}

// unthrottled predicts by Little's law: an operation of a waiting thread then takes as long as the
// device needs, which does not count time in the throttle.
func unthrottled(e *diagnosis.Evidence, w *waiter, limit cgroup.IOLimit, rate float64) *diagnosis.Prediction {
	d := disk(e.Mean, device(e, limit.Device))
	if d == nil || rate <= 0 {
		return nil
	}
	operations := rate // per second
	if limit.Kind == "rbps" || limit.Kind == "wbps" {
		operations = (d.Reads + d.Writes) * rate / max(1, d.ReadBytes+d.WriteBytes)
	}
	threads := w.io.Blocked + w.Busy
	cycle, least := threads/max(1e-9, operations), latency(d)+w.Busy/max(1e-9, operations)
	if cycle <= least {
		return nil
	}
	gain := min(99, cycle/least-1)
	return &diagnosis.Prediction{Low: gain / 4, High: gain, Of: "throughput", Basis: "Little's law with the device's response time; the device's own limit may come first"}
}
