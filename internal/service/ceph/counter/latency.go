package counter

import (
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// stages are the mean times of a class of operations, in seconds.
type stages struct {
	mean     float64 // as clients see it
	primary  float64 // from arrival in the primary OSD to the answer; the following are within it
	process  float64 // after the queue
	prepare  float64 // of that, until the operation is submitted to BlueStore and to other OSDs, or read
	commit   float64 // a commit to BlueStore
	flush    float64 // of that, a flush of the device
	read     float64 // a read of the device
	parallel bool    // other OSDs take part
}

// parts are the parts of the mean latency of clients, in seconds. All but flush, which is within commit, add up to it, unless the counters
// say that the primary OSD takes longer than clients wait.
type parts struct{ client, queue, copies, commit, flush, read, rest float64 }

// parts divides the latency. Operations are prepared, which includes reads of the own device, and then wait until BlueStore has committed and
// all other OSDs have answered, which goes on in parallel: what exceeds the commit is the wait for others.
//
// Source: PrimaryLogPG::log_op_stats and execute_ctx (src/osd/PrimaryLogPG.cc) for what the counters include.
func (s stages) parts() parts {
	p := parts{client: max(0, s.mean-s.primary), queue: max(0, s.primary-s.process)}
	process := s.primary - p.queue
	prepare := min(s.prepare, process)
	wait := process - prepare
	p.commit = min(s.commit, wait)
	p.flush = min(s.flush, p.commit)
	p.read = min(s.read, process-p.commit)
	own := min(p.read, prepare)
	p.rest, p.copies = prepare-own, wait-p.commit-(p.read-own)
	if !s.parallel {
		p.rest, p.copies = p.rest+p.copies, 0
	}
	return p
}

// add adds a share of other parts.
func (p *parts) add(share float64, q parts) {
	p.client += share * q.client
	p.queue += share * q.queue
	p.copies += share * q.copies
	p.commit += share * q.commit
	p.flush += share * q.flush
	p.read += share * q.read
	p.rest += share * q.rest
}

// part is a part as a metric.
type part struct {
	name, doc string
	of        func(parts) float64
}

func partList() []part {
	return []part{
		{"client", "outside the OSDs: client, messenger, and network", func(p parts) float64 { return p.client }},
		{"queue", "in the queue of the primary OSD", func(p parts) float64 { return p.queue }},
		{"copies", "waiting for other OSDs, beyond the commit in the primary OSD", func(p parts) float64 { return p.copies }},
		{"commit", "commit to BlueStore", func(p parts) float64 { return p.commit }},
		{"flush", "flush of the device, a part of the commit", func(p parts) float64 { return p.flush }},
		{"read", "reading the device", func(p parts) float64 { return p.read }},
		{"rest", "other work of the primary OSD", func(p parts) float64 { return p.rest }},
	}
}

// class is a class of operations: the prefix of its parts in a record, the name of its mean latency among the values of a load, and what it has not.
type class struct{ prefix, mean, what, without string }

var (
	allClass   = class{"ceph.latency.", "mean", "an operation", ""}
	writeClass = class{"ceph.write_latency.", "write.mean", "a write", "read"}
	readClass  = class{"ceph.read_latency.", "read.mean", "a read", "commit flush"}
)

// parts are the parts that the class has.
func (c class) parts() []part {
	return slices.DeleteFunc(partList(), func(p part) bool { return slices.Contains(strings.Fields(c.without), p.name) })
}

func (c class) enter(p parts, counters map[string]float64) {
	for _, one := range c.parts() {
		counters[c.prefix+one.name] = one.of(p)
	}
}

// PartMetrics are the parts of the latency of operations, of writes and of reads.
func PartMetrics() (all []measure.Metric) {
	for _, c := range []class{allClass, writeClass, readClass} {
		for _, one := range c.parts() {
			all = append(all, measure.Metric{Name: c.prefix + one.name, Unit: "s", Doc: "part of the mean latency of " + c.what + ": " + one.doc, Better: measure.LowerIsBetter})
		}
	}
	return all
}

// Derive adds what follows from counters of the cluster, of the processes of the load, and from values of the load.
func Derive(counters, values map[string]float64) {
	divideLatency(counters, values)
	if used, known := counters["processes.generator.cpu"]; known && values["iops"] > 0 {
		counters[ClientMetric().Name] = used / values["iops"]
	}
}

// ClientMetric is what an operation costs the clients.
func ClientMetric() measure.Metric {
	return measure.Metric{Name: "ceph.client_cpu", Unit: "s", Doc: "CPU time of the processes of the load per operation", Better: measure.LowerIsBetter}
}

// divideLatency adds the parts of the mean latency of clients to the counters of a record.
func divideLatency(counters, values map[string]float64) {
	mean, known := values[allClass.mean]
	writes, reads := counters["ceph.writes.count"], counters["ceph.reads.count"]
	if !known || writes+reads <= 0 {
		return
	}
	parallel := counters["ceph.replicas.count"] > 0
	w := stages{
		mean: values[writeClass.mean], primary: counters["ceph.writes.time"] / writes, process: counters["ceph.writes.process_time"] / writes,
		prepare: counters["ceph.writes.prepare_time"] / writes, commit: counters["ceph.commits.latency"], flush: counters["ceph.flushes.latency"], parallel: parallel,
	}
	r := stages{
		mean: values[readClass.mean], primary: counters["ceph.reads.time"] / reads, process: counters["ceph.reads.process_time"] / reads,
		prepare: counters["ceph.reads.prepare_time"] / reads, read: min(1, counters["ceph.device_reads.count"]/reads) * counters["ceph.device_reads.latency"], parallel: parallel,
	}
	var whole parts
	inside := 0.
	for _, c := range []struct {
		of    class
		times stages
		count float64
	}{{writeClass, w, writes}, {readClass, r, reads}} {
		if c.count == 0 {
			continue
		}
		p := c.times.parts()
		if c.times.mean > 0 {
			c.of.enter(p, counters)
		}
		whole.add(c.count/(writes+reads), p)
		inside += c.count / (writes + reads) * c.times.primary
	}
	whole.client = max(0, mean-inside)
	allClass.enter(whole, counters)
}
