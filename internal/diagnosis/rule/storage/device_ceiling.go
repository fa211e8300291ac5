package storage

import (
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	saturated  = 0.95 // share of the time with requests in flight
	deep       = 4    // requests in flight: one that is served, and more that wait
	deepRotate = 2    // likewise, of a rotating disk, which serves one at a time
	slow       = 0.01 // seconds: above what a random access of a rotating disk takes
)

// deviceCeiling finds a saturated device that programs wait for. A deep queue that a program wants
// looks alike: its requests are fast, or none of its threads blocks on them. So does a copy that
// uses the disk as fast as it is.
var deviceCeiling = diagnosis.Rule{
	Name: "device_ceiling", Area: diagnosis.Storage,
	Doc:      "a block device is saturated, and programs wait in its queue",
	Needs:    []string{"disks", "processes"},
	Explains: []string{"queue_depth_low"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		waiting := waiters(e)
		if len(waiting) == 0 {
			return nil
		}
		for _, d := range lowest(e) {
			least := float64(deep)
			if rotates(e, d) {
				least = deepRotate
			}
			at := e.Times(func(i *hoststat.Interval) bool {
				now := disk(i, d.Name)
				return now != nil && inUse(now) >= saturated && now.QueueTime >= least && latency(now) >= slow
			})
			using := users(e, d)
			if at < sometimes || len(using) == 0 || strings.HasPrefix(d.Name, "loop") {
				continue
			}
			w := waiting[0]
			found = append(found, diagnosis.Finding{
				Subject:    w.Subject(),
				Confidence: diagnosis.Likely,
				Impact:     w.cost,
				Says:       d.Name + " is saturated {of the time} of the time, with {in flight} requests in flight and a response time of {response time}; {subject} waits {waiting} of its time. It is used by " + named(using) + ".",
				Evidence: []diagnosis.Fact{
					diagnosis.Share("of the time", at), diagnosis.Share("busy", inUse(d)), diagnosis.Number("in flight", d.QueueTime), diagnosis.Seconds("response time", latency(d)),
					diagnosis.Rate("reads", d.Reads), diagnosis.Rate("writes", d.Writes), diagnosis.ByteRate("rate", d.ReadBytes+d.WriteBytes), diagnosis.Share("waiting", w.cost),
				},
				Change: &diagnosis.Change{Says: "move data to another or a faster device, or let " + using[0].Subject() + " read and write less; more requests at a time only wait longer"},
			})
		}
		return found
	},
}
