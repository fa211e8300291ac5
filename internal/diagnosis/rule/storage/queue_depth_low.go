package storage

import (
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	single     = 1.5  // requests in flight, while there are any, of a program that has one at a time
	halfTime   = 0.5  // share of the time with requests in flight
	small4K    = 64e3 // bytes per request: larger ones are bounded by bandwidth
	leastAlone = 0.3  // share of the program's time; the rest is its own computing and waiting for CPUs
	steadily   = 0.8  // share of the intervals
	triedDepth = 4    // requests in flight that the change asks for
)

// queueDepthLow finds a program that has one request in flight at a time on a device which serves
// several at once. A database at an easy load looks alike, and leaves the device idle; so do writes
// that are forced to the disk one by one, and a rotating disk, which serves one at a time.
var queueDepthLow = diagnosis.Rule{
	Name: "queue_depth_low", Area: diagnosis.Storage,
	Doc:   "a program has one request in flight at a time, and waits for each",
	Needs: []string{"disks", "processes"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, whole := range lowest(e) {
			d := whole
			reads := readsOnly(e, whole)
			if reads {
				d = reading(whole)
			}
			requests := d.Reads + d.Writes
			if inUse(d) < halfTime || depth(d) > single || rotates(e, d) || latency(d) > slow || d.FlushTime > leastFlushing || (d.ReadBytes+d.WriteBytes)/max(1, requests) > small4K {
				continue
			}
			steady := e.Times(func(i *hoststat.Interval) bool {
				now := disk(i, d.Name)
				if now != nil && reads {
					now = reading(now)
				}
				return now != nil && inUse(now) >= halfTime && depth(now) <= single
			})
			p := mainUser(e, d)
			if p == nil || steady < steadily {
				continue
			}
			most := p.Costs(alone(d, p))
			if most < leastAlone {
				continue
			}
			now := depth(d)
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Confidence: diagnosis.Likely,
				Impact:     most,
				Says:       "{subject} has {in flight} requests in flight on " + d.Name + ", waits {response time} for each, and so {waiting} of its time. The device serves several at once.",
				Evidence: []diagnosis.Fact{
					diagnosis.Number("in flight", now), diagnosis.Seconds("response time", latency(d)), diagnosis.Rate("requests", requests),
					diagnosis.Share("busy", inUse(d)), diagnosis.Share("waiting", most),
				},
				Change:     &diagnosis.Change{Says: "let " + p.Name + " keep several requests in flight: more threads, a larger I/O depth, or asynchronous I/O (fio: --ioengine=io_uring --iodepth=4)", Factor: "depth", To: "4"},
				Prediction: &diagnosis.Prediction{Low: (triedDepth/now - 1) / 2, High: triedDepth/now - 1, Of: "throughput", Basis: "Little's law with 4 requests in flight, if the response time stays"},
			})
		}
		return found
	},
}

// readsOnly reports whether the main user of a device only reads: what the kernel writes meanwhile is
// not its.
func readsOnly(e *diagnosis.Evidence, d *hoststat.Disk) bool {
	const nearly = 0.95
	using := users(e, d)
	if len(using) == 0 {
		return false
	}
	io := using[0].IO()
	return io.ReadBytes >= nearly*io.Bytes()
}

// reading is a device as its readers see it.
func reading(d *hoststat.Disk) *hoststat.Disk {
	return &hoststat.Disk{
		Name: d.Name, Number: d.Number, Reads: d.Reads, ReadMerges: d.ReadMerges, ReadBytes: d.ReadBytes, ReadTime: d.ReadTime,
		Busy: d.Busy, QueueTime: d.ReadTime, InDriver: d.InDriver,
	}
}

// mainUser is the program that does most of a device's I/O by one thread or asynchronously; nil if
// there is none, or if it is one that copies.
func mainUser(e *diagnosis.Evidence, d *hoststat.Disk) *diagnosis.Program {
	using := users(e, d)
	if len(using) == 0 || !e.Asked(using[0].Processes[0]) || len(e.Focus) == 0 && slices.Contains(batch, using[0].Name) {
		return nil
	}
	const most = 0.7 // of the device's bytes
	if io := using[0].IO(); io.Bytes() < most*(d.ReadBytes+d.WriteBytes) || io.Blocked > single {
		return nil
	}
	return using[0]
}
