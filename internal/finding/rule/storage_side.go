package rule

import (
	"fmt"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

const (
	mostOfTime    = 0.5  // share of the latency of a client above which a part of the path limits it
	slowOSD       = 1.5  // ratio of a commit of the slowest OSD to the median, above which it stands out
	waitsForCPU   = 1    // threads that wait for a CPU per CPU used, above which CPU is missing
	leastWaiting  = 0.5  // threads that wait: those that do little wait now and then, and delay nothing
	busyCommitter = 0.70 // utilisation of the threads that flush devices, of which each OSD has one
	longQueue     = 0.25 // share of the latency of a client in the queues of OSDs, above which these are busy
	fewPerOSD     = 4    // outstanding operations per OSD below which more of them may find idle OSDs
)

// storageSide finds the part of the path to a storage cluster that limits it.
var storageSide = Rule{
	Name:  "storage_side",
	Doc:   "which side limits a storage cluster: the load, its CPU, one OSD, the CPU of the OSDs, the network, or the devices",
	Needs: []string{"ceph.latency.client"},
	About: "ceph.operations",
	Check: func(c *Case, arm int) *Found {
		p, ok := c.storagePath(arm)
		if _, limits := c.Scope(arm); !ok || !limits {
			return nil
		}
		for _, side := range []func(*Case, int, *storagePath) *Found{slowestOSD, backCPU, frontCPU, replication, devices, frontConcurrency} {
			if f := side(c, arm, p); f != nil {
				f.Grade = finding.AccountsFor
				f.Evidence = append(f.Evidence, evidence("client latency", p.client+p.inside, "s"), evidence("outside the OSDs", p.client, "s"), evidence("queue", p.queue, "s"),
					evidence("network and other copies", p.network, "s"), evidence("device", p.device, "s"), evidence("rest of the OSDs", p.inside-p.queue-p.network-p.device, "s"))
				f.Says += ". Of {client latency} that a client waits, {outside the OSDs} pass outside the OSDs, {queue} in their queues, {network and other copies} on the way to other copies and {device} in devices."
				return f
			}
		}
		return nil
	},
}

// storagePath is the mean latency of an operation, by the parts of its path in seconds.
type storagePath struct {
	client  float64 // client, messenger and network before the primary OSD
	inside  float64 // the primary OSD; the sum of the following parts and of the rest
	queue   float64
	network float64 // what other copies take beyond their own commit
	device  float64 // flushes and reads
	flushes float64 // utilisation of the threads that flush
	osds    float64
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
	p := &storagePath{client: client, queue: mean("ceph.latency.queue"), osds: mean("ceph.up")}
	commit, copies := mean("ceph.latency.commit"), mean("ceph.latency.copies")
	p.inside = p.queue + commit + copies + mean("ceph.latency.read") + mean("ceph.latency.rest")
	slower := max(0, writes/(writes+reads)*mean("ceph.replicas.latency")-commit) // other copies than the one of the primary OSD
	p.network = max(0, copies-slower)
	p.device = mean("ceph.latency.flush") + mean("ceph.latency.read")
	p.flushes = mean("ceph.flushes.time") / max(p.osds, 1)
	return p, true
}

func slowestOSD(c *Case, arm int, p *storagePath) *Found {
	by, ok := c.Table.Mean(arm, "ceph.slowest.ratio")
	n, same := c.slowest(arm)
	if !ok || !same || by < slowOSD || p.inside < mostOfTime*(p.client+p.inside) {
		return nil
	}
	return &Found{
		Says:     "One OSD limits the cluster with {arm}: osd.{slowest} commits {times as slow} times as slowly as the median",
		Evidence: []finding.Evidence{evidence("slowest", n, "1"), evidence("times as slow", by, "1")},
		Advice:   fmt.Sprintf("look at the device, the CPU and the log of osd.%.0f, or take it out", n),
	}
}

// slowest is the OSD that was slowest in each trial of an arm; not ok if they differ.
func (c *Case) slowest(arm int) (n float64, ok bool) {
	col := c.Table.Column("ceph.slowest")
	if col == nil {
		return 0, false
	}
	values, _, _ := c.Table.Sample(col, arm)
	if len(values) == 0 || slices.ContainsFunc(values, func(v float64) bool { return v != values[0] }) {
		return 0, false
	}
	return values[0], true
}

// starved is how many threads of a part of the study wait for a CPU, per CPU that it uses.
func (c *Case) starved(arm int, part string) (float64, bool) {
	waits, ok := c.Table.Mean(arm, "processes."+part+".run_delay")
	used, known := c.Table.Mean(arm, "processes."+part+".cpu")
	return waits / used, ok && known && used > 0 && waits >= leastWaiting
}

func backCPU(c *Case, arm int, p *storagePath) *Found {
	waits, ok := c.starved(arm, "service")
	if !ok || waits < waitsForCPU || p.inside < mostOfTime*(p.client+p.inside) {
		return nil
	}
	return &Found{
		Says:     "The OSDs lack CPU with {arm}: {waiting} of their threads wait for one, per CPU that they use",
		Evidence: []finding.Evidence{evidence("waiting", waits, "1")},
		Advice:   "give the OSDs more CPUs, or raise their quota",
	}
}

func frontCPU(c *Case, arm int, p *storagePath) *Found {
	if p.client < mostOfTime*(p.client+p.inside) {
		return nil
	}
	waits, ok := c.starved(arm, "generator")
	used, known := c.generatorShare(arm)
	if (!ok || waits < waitsForCPU) && (!known || used < generatorLimit) {
		return nil
	}
	f := &Found{Says: "The CPU of the clients limits the cluster with {arm}", Advice: "give the clients more CPUs, more threads, or more machines"}
	if ok {
		f.Says += ": {waiting} of their threads wait for one, per CPU that they use"
		f.Evidence = append(f.Evidence, evidence("waiting", waits, "1"))
	}
	return f
}

func replication(_ *Case, _ int, p *storagePath) *Found {
	if p.network < mostOfTime*(p.client+p.inside) {
		return nil
	}
	return &Found{
		Says:   "The network between the OSDs limits the cluster with {arm}: other copies take longer than their commits",
		Advice: "measure the round trip between the hosts of the OSDs, and look for lost packets",
	}
}

func devices(c *Case, arm int, p *storagePath) *Found {
	busy, _ := c.Table.Mean(arm, "disk.busy")
	if p.device < mostOfTime*p.inside || p.flushes < busyCommitter && busy < busyDevice {
		return nil
	}
	return &Found{
		Says:     "The devices limit the cluster with {arm}: the threads that flush them are busy {flushing} of the time",
		Evidence: []finding.Evidence{evidence("flushing", p.flushes, "share")},
		Advice:   "add OSDs, or put their write-ahead logs on faster devices",
	}
}

// outstanding is the number of outstanding operations of a closed loop: of all groups together by Little's law, where there are others than the subject.
func (c *Case) outstanding(arm int) (float64, bool) {
	n, closed := c.inFlight(arm)
	rate, several := c.Table.Mean(arm, measure.All+c.Table.Rate)
	mean, known := c.Table.Mean(arm, measure.All+"mean")
	if several && known {
		n = rate * mean
	}
	return n, closed
}

func frontConcurrency(c *Case, arm int, p *storagePath) *Found {
	n, closed := c.outstanding(arm)
	change, ok := doubled(c, arm)
	if !closed || !ok || p.osds == 0 || n/p.osds >= fewPerOSD || p.queue > longQueue*(p.client+p.inside) {
		return nil
	}
	return &Found{
		Says:     "The load limits the cluster with {arm}: it has {outstanding} operations outstanding for {OSDs} OSDs, of which none is busy. Raise {factor} from {from} to {to}",
		Evidence: []finding.Evidence{evidence("outstanding", n, "1"), evidence("OSDs", p.osds, "1")},
		Change:   change, Gain: doublingGain(c, arm, change),
	}
}
