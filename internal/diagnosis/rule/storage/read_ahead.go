package storage

import (
	"fmt"
	"strconv"

	"plimsoll/internal/diagnosis"
)

const (
	smallAhead = 64   // KiB; the kernel's default is 128
	goodAhead  = 512  // KiB, of several requests of a device, so that some are always in flight
	basePage   = 4096 // bytes, the least that a buffered read fetches
	uncached   = 0.7  // share of the bytes read that comes from a device
)

// readAhead finds programs that read in sequence through the page cache and get a few pages at a
// time. Random reads of single pages look alike; but they ask for no more than they get.
var readAhead = diagnosis.Rule{
	Name: "read_ahead", Area: diagnosis.Storage,
	Doc:      "read-ahead is so small that programs wait for each piece of what they read in sequence",
	Needs:    []string{"disks", "processes"},
	Explains: []string{"queue_depth_low", "device_ceiling", "disk_neighbour", "io_scheduler"},
	Check: sometimesToo(func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for n := range e.Mean.Disks {
			d := &e.Mean.Disks[n]
			ahead, err := strconv.ParseFloat(queue(e, d.Name, "read_ahead_kb"), 64)
			if err != nil || ahead > smallAhead || d.Reads < 1 {
				continue
			}
			request := d.ReadBytes / d.Reads
			if request > max(1.25*1024*ahead, basePage) {
				continue
			}
			for _, p := range users(e, d) {
				io := p.IO()
				asked := io.ReadChars / max(1, io.ReadCalls)
				cost := p.Costs(alone(d, p))
				if io.ReadBytes < 0.5*d.ReadBytes || io.ReadBytes < uncached*io.ReadChars || asked < 2*request || cost < leastCost || !e.Asked(p.Processes[0]) {
					continue
				}
				all := cost / (1 - min(0.95, cost))
				found = append(found, diagnosis.Finding{
					Subject:    p.Subject(),
					Confidence: diagnosis.Likely,
					Impact:     cost,
					Says:       fmt.Sprintf("{subject} reads {asked} at a time from %s, which fetches {request} per request: its read-ahead is %.0f KiB. It waits {waiting} of its time.", d.Name, ahead),
					Evidence: []diagnosis.Fact{
						diagnosis.Bytes("asked", asked), diagnosis.Bytes("request", request), diagnosis.Rate("requests", d.Reads),
						diagnosis.Number("in flight", depth(d)), diagnosis.Share("waiting", cost),
					},
					Change: &diagnosis.Change{
						Says:    fmt.Sprintf("raise the read-ahead of %s to %d KiB; files that are open keep the old one", d.Name, goodAhead),
						Command: fmt.Sprintf("echo %d > /sys/block/%s/queue/read_ahead_kb", goodAhead, d.Name),
					},
					Prediction: &diagnosis.Prediction{Low: all / 2, High: all, Of: "throughput", Basis: "reading overlaps with waiting for the device"},
				})
				break
			}
		}
		return found
	}),
}
