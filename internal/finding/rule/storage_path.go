package rule

import (
	"slices"

	"plimsoll/internal/finding"
)

// storagePath is the mean latency of an operation by the parts of its path in seconds, and how busy these are.
type storagePath struct {
	outside float64 // client, messenger and network before the primary OSD
	queue   float64
	network float64 // what other copies take beyond their own commit
	device  float64 // commits and reads
	read    float64 // of it, reads
	work    float64 // the rest of the OSDs: their CPU, and the commits of other copies

	outstanding float64 // operations, by Little's law
	osds        float64
	flushing    float64 // utilisation of the threads that flush devices, of which each OSD has one
	flush       float64 // mean latency of a flush, of the commit
	reading     float64 // reads of its device that an OSD waits for, on average
}

func (p *storagePath) inside() float64 { return p.queue + p.network + p.device + p.work }

func (p *storagePath) whole() float64 { return p.outside + p.inside() }

// leads reports whether a part is the largest and not just one of many.
func (p *storagePath) leads(part float64) bool {
	return part >= leadingShare*p.whole() && part >= max(p.outside, p.queue, p.network, p.device, p.work)
}

// forDevices is the time that operations wait for devices: in the queue too where its threads do little else than read, since they wait for each
// read. Commits they leave to another thread.
func (p *storagePath) forDevices() float64 {
	if p.read >= mostOfTime*(p.inside()-p.queue) {
		return p.device + p.queue
	}
	return p.device
}

// flushBound reports whether the threads that flush devices have little time left. Utilisation is over the load with its begin and end, in which
// they idle.
func (p *storagePath) flushBound() bool {
	return p.flushing >= busyCommitter || p.flush >= longFlush*p.whole() && p.flushing >= mostOfTime
}

// storagePath divides the latency of the clients by its parts in the records.
func (c *Case) storagePath(arm int) (*storagePath, bool) {
	mean := func(name string) float64 {
		v, _ := c.Table.Mean(arm, name)
		return v
	}
	client, ok := c.Table.Mean(arm, "ceph.latency.client")
	writes, reads := mean("ceph.writes.count"), mean("ceph.reads.count")
	if !ok || writes+reads <= 0 {
		return nil, false
	}
	p := &storagePath{outside: client, queue: mean("ceph.latency.queue"), osds: mean("ceph.up"), flush: mean("ceph.latency.flush")}
	commit, copies := mean("ceph.latency.commit"), mean("ceph.latency.copies")
	slower := min(copies, max(0, writes/(writes+reads)*mean("ceph.replicas.latency")-commit)) // other copies than the one of the primary OSD
	p.network = copies - slower
	p.read = mean("ceph.latency.read")
	p.device = commit + p.read
	p.work = mean("ceph.latency.rest") + slower
	p.flushing, p.reading = mean("ceph.flushes.time")/max(p.osds, 1), mean("ceph.device_reads.time")/max(p.osds, 1)
	p.outstanding = mean(c.Table.Rate) * p.whole()
	return p, true
}

// evidence are the parts.
func (p *storagePath) evidence() []finding.Evidence {
	return []finding.Evidence{
		evidence("client latency", p.whole(), "s"), evidence("outside the OSDs", p.outside, "s"), evidence("queue", p.queue, "s"),
		evidence("network between OSDs", p.network, "s"), evidence("device", p.device, "s"), evidence("rest of the OSDs", p.work, "s"),
	}
}

const pathSays = ". Of {client latency} that a client waits, {outside the OSDs} pass outside the OSDs, {queue} in their queues, {network between OSDs} on the network between them, " +
	"{device} in commits and reads, and {rest of the OSDs} in other work of the OSDs."

// slowest is the OSD that was slowest in each trial of an arm, and how many times as slow as the median; not ok if they differ.
func (c *Case) slowest(arm int) (n, times float64, ok bool) {
	col := c.Table.Column("ceph.slowest")
	times, known := c.Table.Mean(arm, "ceph.slowest.ratio")
	if col == nil || !known {
		return 0, 0, false
	}
	values, _, _ := c.Table.Sample(col, arm)
	if len(values) == 0 || slices.ContainsFunc(values, func(v float64) bool { return v != values[0] }) {
		return 0, 0, false
	}
	return values[0], times, true
}

// starvation is how much the threads of a part of the study lack CPUs: how many wait for one, or are throttled, on average and per CPU that they use.
type starvation struct{ waiting, perCPU, throttled float64 }

// clientsStarved and osdsStarved are those of the load and of the service.
func (c *Case) clientsStarved(arm int) (starvation, bool) {
	return c.starved(arm, "generator", "cgroup.throttled")
}

func (c *Case) osdsStarved(arm int) (starvation, bool) {
	return c.starved(arm, "service", "cgroup.service.throttled")
}

// starved is the starvation of a part; not ok without counters of it.
func (c *Case) starved(arm int, part, throttled string) (s starvation, ok bool) {
	waits, ok := c.Table.Mean(arm, "processes."+part+".run_delay")
	used, known := c.Table.Mean(arm, "processes."+part+".cpu")
	if !ok || !known || used <= 0 {
		return s, false
	}
	s.throttled, _ = c.Table.Mean(arm, throttled)
	s.waiting = max(waits, s.throttled) // threads that a quota stops may not count as waiting
	s.perCPU = s.waiting / used
	return s, true
}
