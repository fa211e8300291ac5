package rule

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

const (
	leadingShare  = 0.35 // share of the latency of a client from which the largest part of the path leads
	mostOfTime    = 0.5  // share of the latency that is most of it
	slowOSD       = 1.5  // ratio of a commit of the slowest OSD to the median, above which it stands out
	waitsForCPU   = 1    // threads that wait for a CPU per CPU used, above which CPU is missing
	mostlyWaits   = 4    // of these, above which threads hardly do anything else
	delaysMany    = 0.05 // threads that wait per outstanding operation, above which their waits delay operations
	busyCommitter = 0.70 // utilisation of the threads that flush devices, or reads that wait for one
	longFlush     = 0.30 // share of the latency of a client in one flush, above which half of the time will do
	longQueue     = 0.25 // share of the latency of a client in the queues of OSDs, above which these are busy
	fewPerOSD     = 4    // outstanding operations per OSD below which more of them may find idle OSDs
	quotaBinds    = 0.25 // share of the time for which a CPU quota stops processes, above which it holds them back
	nearLimit     = 0.90 // share of a limit of images above which it is reached
	retry         = 1e-3 // seconds between two attempts to read a message that a throttle refuses
	leastBlocked  = 0.5  // connections and operations that wait for a throttle, above which it matters
)

// storageSide finds the part of the path to a storage cluster that limits it.
var storageSide = Rule{
	Name:  "storage_side",
	Doc:   "which side limits a storage cluster: the load, the CPU of its clients, a throttle, one OSD, the CPU of the OSDs, the network between them, or the devices",
	Needs: []string{"ceph.latency.client"},
	About: "ceph.operations",
	Check: func(c *Case, arm int) *Found {
		p, ok := c.storagePath(arm)
		if _, limits := c.Scope(arm); !ok || !limits || c.Table.OpenLoop(arm) { // a rate that is carried has no limit
			return nil
		}
		for _, side := range sides {
			if f := side.found(c, arm, p); f != nil {
				f.Grade = finding.AccountsFor
				f.Evidence = append(f.Evidence, p.evidence()...)
				f.Says += pathSays
				return f
			}
		}
		return nil
	},
	Lacks: func(c *Case, arm int) string {
		p, ok := c.storagePath(arm)
		switch {
		case !ok:
			return ""
		case c.Table.OpenLoop(arm):
			return "the cluster carries the rate of the load: a search for the peak finds its limit"
		}
		var all []string
		if p.leads(p.outside) {
			all = append(all, "most of the latency is outside the OSDs, and no counter tells of the network between clients and OSDs")
		}
		for _, side := range sides {
			for _, need := range side.needs {
				if !c.has(arm, need) {
					all = append(all, "no "+need+" counter, which tells of "+side.what)
					break
				}
			}
		}
		return strings.Join(all, "; ")
	},
}

// side is a side that may limit a cluster.
type side struct {
	what  string
	needs []string // counters without which it is not found
	found func(c *Case, arm int, p *storagePath) *Found
}

// sides are in the order in which they are tried: those that are counted, then those of the part of the latency that leads, then those that only
// delay.
var sides = []side{
	{"one slow OSD", []string{"ceph.slowest.ratio"}, oneSlowOSD},
	{"limits of images", nil, imageLimit},
	{"throttles of the OSDs", []string{"ceph.throttle.time"}, osdThrottle},
	{"the CPU of the clients", []string{"processes.generator.run_delay"}, clientCPU},
	{"the network between the OSDs", []string{"ceph.replicas.latency"}, networkBetween},
	{"the CPU of the OSDs", []string{"processes.service.run_delay"}, starvedOSDs},
	{"the devices", []string{"ceph.flushes.time"}, devices},
	{"the load", nil, frontConcurrency},
	{"the CPU of the OSDs", nil, delayedOSDs},
}

func oneSlowOSD(c *Case, arm int, p *storagePath) *Found {
	n, by, ok := c.slowest(arm)
	if !ok || by < slowOSD || p.inside() < mostOfTime*p.whole() {
		return nil
	}
	return &Found{
		Says:     "One OSD limits the cluster: osd.{slowest} takes {times as slow} times as long for a commit or a read as the median of the OSDs, with {arm}",
		Evidence: []finding.Evidence{evidence("slowest", n, "1"), evidence("times as slow", by, "1")},
		Advice:   fmt.Sprintf("look at the device, the CPU and the log of osd.%.0f, or take it out", n),
	}
}

// imageLimit finds a limit of the images that the load reaches. Each thread of a disk is a client of librbd, which limits by itself.
func imageLimit(c *Case, arm int, p *storagePath) *Found {
	clients := c.disks(arm)
	if text, ok := c.Table.Setting(arm, "threads"); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			clients *= float64(n)
		}
	}
	for _, l := range []struct{ name, rate, option, unit string }{
		{"iops", c.Table.Rate, "rbd_qos_iops_limit", "1/s"}, {"bytes", "throughput", "rbd_qos_bps_limit", "B/s"},
		{"read_iops", "read." + c.Table.Rate, "rbd_qos_read_iops_limit", "1/s"}, {"read_bytes", "read.throughput", "rbd_qos_read_bps_limit", "B/s"},
		{"write_iops", "write." + c.Table.Rate, "rbd_qos_write_iops_limit", "1/s"}, {"write_bytes", "write.throughput", "rbd_qos_write_bps_limit", "B/s"},
	} {
		each, limited := c.Table.Mean(arm, "ceph.qos."+l.name)
		rate, ok := c.Table.Mean(arm, l.rate)
		if limited && ok && rate >= nearLimit*each*clients && p.leads(p.outside) {
			return &Found{
				Says:     "A limit of the images limits the cluster with {arm}: the pool allows {limit} to each of {clients} clients, and they reach {reached} together",
				Evidence: []finding.Evidence{evidence("clients", clients, "1"), evidence("limit", each, l.unit), evidence("reached", rate, l.unit)},
				Advice:   "raise " + l.option + " of the pool, or use more images",
			}
		}
	}
	return nil
}

// osdThrottle finds throttles that keep OSDs from reading what clients send: it waits outside the OSDs, or before their queue ends.
func osdThrottle(c *Case, arm int, p *storagePath) *Found {
	waits, ok := c.Table.Mean(arm, "ceph.throttle.time")
	refused, _ := c.Table.Mean(arm, "ceph.throttle.refusals")
	if blocked := waits + retry*refused; !ok || blocked < leastBlocked || p.outside+p.queue < mostOfTime*p.whole() {
		return nil
	}
	return &Found{
		Says:     "A throttle of the OSDs limits the cluster with {arm}: {blocked} of its messages and operations wait for one at any time",
		Evidence: []finding.Evidence{evidence("blocked", waits+retry*refused, "1")},
		Advice:   "look for the throttle in perf dump of an OSD, such as osd_client_messages, and raise its option (osd_client_message_cap, osd_client_message_size_cap, bluestore_throttle_bytes)",
	}
}

func clientCPU(c *Case, arm int, p *storagePath) *Found {
	if !p.leads(p.outside) {
		return nil
	}
	s, ok := c.clientsStarved(arm)
	if osds, _ := c.osdsStarved(arm); osds.throttled >= quotaBinds && osds.throttled > s.throttled { // these read what clients send
		return nil
	}
	used, known := c.generatorShare(arm)
	if (!ok || s.perCPU < waitsForCPU || s.waiting < leastBlocked) && (!known || used < generatorLimit) {
		return nil
	}
	f := &Found{Says: "The CPU of the clients limits the cluster with {arm}", Advice: "give the clients more CPUs, more threads, or more machines"}
	if ok {
		f.Says += ": {waiting} of their threads wait for one or are throttled, per CPU that they use"
		f.Evidence = append(f.Evidence, evidence("waiting", s.perCPU, "1"))
	}
	return f
}

func networkBetween(_ *Case, _ int, p *storagePath) *Found {
	if !p.leads(p.network) {
		return nil
	}
	return &Found{
		Says:   "The network between the OSDs limits the cluster with {arm}: other copies take longer than their commits",
		Advice: "measure the round trip between the hosts of the OSDs, and look for lost packets",
	}
}

// starvedOSDs finds OSDs whose threads do little else than wait for a CPU: all parts of the path, the flushes too, then take longer.
func starvedOSDs(c *Case, arm int, p *storagePath) *Found { return lackOfCPU(c, arm, p, mostlyWaits) }

// delayedOSDs finds OSDs that wait for CPUs about as long as they use them.
func delayedOSDs(c *Case, arm int, p *storagePath) *Found { return lackOfCPU(c, arm, p, waitsForCPU) }

func lackOfCPU(c *Case, arm int, p *storagePath, least float64) *Found {
	s, ok := c.osdsStarved(arm)
	if ok && s.throttled < quotaBinds && p.outstanding < p.osds { // idle OSDs would take more operations
		return nil
	}
	within := p.inside() >= mostOfTime*p.whole() || s.throttled >= quotaBinds // a quota also stops what reads from clients
	if !ok || s.perCPU < least || s.waiting < max(leastBlocked, delaysMany*p.outstanding) && s.throttled < quotaBinds || !within {
		return nil
	}
	return &Found{
		Says:     "The CPU of the OSDs limits the cluster with {arm}: {waiting} of their threads wait for one or are throttled, per CPU that they use",
		Evidence: []finding.Evidence{evidence("waiting", s.perCPU, "1")},
		Advice:   "give the OSDs more CPUs, or raise their quota",
	}
}

func devices(c *Case, arm int, p *storagePath) *Found {
	busy, _ := c.Table.Mean(arm, "disk.busy")
	if part := p.forDevices(); part < leadingShare*p.whole() || part < max(p.outside, p.network, p.work) || !p.flushBound() && p.reading < busyCommitter && busy < busyDevice {
		return nil
	}
	if p.reading > p.flushing {
		return &Found{
			Says:     "The devices limit the cluster with {arm}: each OSD waits for {reading} reads of its device at any time",
			Evidence: []finding.Evidence{evidence("reading", p.reading, "1")},
			Advice:   "add OSDs, use faster devices, or give the OSDs more cache",
		}
	}
	return &Found{
		Says:     "The devices limit the cluster with {arm}: the threads that flush them are busy {flushing} of the time, and a flush is {flush} of the latency",
		Evidence: []finding.Evidence{evidence("flushing", p.flushing, "share"), evidence("flush", p.flush, "s")},
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
	if !closed || !ok || p.osds == 0 || n/p.osds >= fewPerOSD || p.queue > longQueue*p.whole() {
		return nil
	}
	return &Found{
		Says:     "The load limits the cluster with {arm}: it has {outstanding} operations outstanding for {OSDs} OSDs, of which none is busy. Raise {factor} from {from} to {to}",
		Evidence: []finding.Evidence{evidence("outstanding", n, "1"), evidence("OSDs", p.osds, "1")},
		Change:   change, Gain: doublingGain(c, arm, change),
	}
}
