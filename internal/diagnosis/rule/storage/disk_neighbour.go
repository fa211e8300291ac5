package storage

import (
	"fmt"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	loudBytes = 0.5 // share of a device's bytes of the program that others wait for
	quietTo   = 3   // times the bytes of the one that waits
	crowded   = 0.9 // share of the time in which a device has requests
)

// diskNeighbour finds programs that wait for a device which another one keeps busy. A backup that
// uses a device fully while nobody else needs it looks alike, and so does a program with few requests
// in flight on a device that serves several at once.
var diskNeighbour = diagnosis.Rule{
	Name: "disk_neighbour", Area: diagnosis.Storage,
	Doc:      "a program waits for a device that another one keeps busy",
	Needs:    []string{"disks", "processes"},
	Explains: []string{"device_ceiling", "queue_depth_low", "fsync_storm", "noisy_neighbour", "periodic_stall"},
	Check: sometimesToo(func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, d := range lowest(e) {
			loud := users(e, d)
			small := d.Flushes >= leastFlushes && d.WriteBytes/d.Flushes < littleData && d.WriteBytes > d.ReadBytes
			queued := depth(d) >= deep || rotates(e, d) && depth(d) >= deepRotate
			if inUse(d) < crowded || !queued || len(loud) == 0 || small {
				continue
			}
			io := loud[0].IO()
			for _, w := range waiters(e) {
				if w.Program.Subject() == loud[0].Subject() || io.Bytes() < loudBytes*(d.ReadBytes+d.WriteBytes) || io.Bytes() < quietTo*w.io.Bytes() {
					continue
				}
				found = append(found, diagnosis.Finding{
					Subject:    w.Subject(),
					Confidence: diagnosis.Likely,
					Impact:     w.cost,
					Says:       "{subject} waits {waiting} of its time for storage, while " + loud[0].Subject() + " keeps " + d.Name + " busy with {its rate} of {rate}.",
					Evidence: []diagnosis.Fact{
						diagnosis.Share("waiting", w.cost), diagnosis.ByteRate("its rate", io.Bytes()), diagnosis.ByteRate("rate", d.ReadBytes+d.WriteBytes),
						diagnosis.Share("busy", inUse(d)), diagnosis.Seconds("response time", latency(d)), diagnosis.Number("in flight", d.QueueTime),
					},
					Change:     quieten(e, loud[0], d),
					Prediction: &diagnosis.Prediction{Low: 0, High: w.cost / (1 - min(0.95, w.cost)), Of: "throughput of " + w.Name, Basis: "the time that it waits; its own requests take a part of that"},
				})
				break
			}
		}
		return found
	}),
}

// quieten limits a program's I/O: by its systemd unit, by its priority under bfq, which alone
// honours it, or by a control group.
func quieten(e *diagnosis.Evidence, loud *diagnosis.Program, d *hoststat.Disk) *diagnosis.Change {
	c := &diagnosis.Change{Says: fmt.Sprintf("limit the I/O of %s, run it at another time, or move it to another disk", loud.Subject())}
	half := (d.ReadBytes + d.WriteBytes) / 2
	if unit, ok := diagnosis.SystemdUnit(loud.Group); ok {
		c.Command = fmt.Sprintf("systemctl set-property --runtime %s 'IOReadBandwidthMax=/dev/%s %.0f' 'IOWriteBandwidthMax=/dev/%s %.0f'", unit, d.Name, half, d.Name, half)
	} else {
		c.Command = fmt.Sprintf("ionice -c 3 -p %d", loud.Processes[0].PID)
		if s := queue(e, d.Name, "scheduler"); s != "bfq" && s != "" {
			c.Command += fmt.Sprintf("   # needs a scheduler with priorities: echo bfq > /sys/block/%s/queue/scheduler", d.Name)
		}
	}
	return c
}
