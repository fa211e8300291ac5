// Package counter makes metrics of the counters of OSDs, and parts of the latency of clients of these.
package counter

import (
	"encoding/json"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
)

// counter is a metric that is the sum of a performance counter over all OSDs.
type counter struct {
	section, name string  // of the counter: see perf dump
	sum           bool    // of the two values of an average, the sum and not the count
	per           float64 // what is counted is so many of the metric; 0 is one
	metric        measure.Metric
}

// The counters of client operations are those of the primary OSDs (src/osd/osd_perf_counters.cc); the stages of a write follow
// src/os/bluestore/BlueStore.cc.
func osdCounters() []counter {
	count := func(section, name, metric, unit, doc string) counter {
		return counter{section: section, name: name, metric: measure.Metric{Name: "ceph." + metric, Unit: unit, Doc: doc}}
	}
	stage := func(section, name, metric, doc string) []counter {
		return []counter{
			count(section, name, metric+".count", "1/s", "number of "+doc),
			{section: section, name: name, sum: true, metric: measure.Metric{Name: "ceph." + metric + ".time", Unit: "s/s", Doc: "time of " + doc + ", in seconds per second"}},
		}
	}
	time := func(name, metric, doc string) counter {
		return counter{section: "osd", name: name, sum: true, metric: measure.Metric{Name: "ceph." + metric, Unit: "s/s", Doc: "time of " + doc + ", in seconds per second"}}
	}
	writes := func(section, name string, per float64) counter {
		return counter{section: section, name: name, per: per, metric: measure.Metric{
			Name: "ceph.device_writes.count", Unit: "1/s", Doc: "number of writes that BlueStore issues to the devices: blobs, deferred writes, and one for each commit and block of its logs",
		}}
	}
	all := []counter{
		count("osd", "op", "operations", "1/s", "client operations"),
		count("osd", "op_w_in_bytes", "write_bytes", "B/s", "bytes that clients write"),
		count("osd", "op_r_out_bytes", "read_bytes", "B/s", "bytes that clients read"),
		count("bluefs", "bytes_written_wal", "log_bytes", "B/s", "bytes written to the write-ahead log of RocksDB"),
		count("bluestore", "deferred_write_bytes", "deferred_bytes", "B/s", "bytes of small writes, written to the log first and to their place later"),
		count("osd", "recovery_bytes", "recovery_bytes", "B/s", "bytes copied to restore redundancy"),
		count("bluestore", "bluestore_stored", "stored", "B", "data stored in the pool, before compression and with all copies"),
		count("bluestore", "bluestore_allocated", "allocated", "B", "space allocated for it"),
		writes("bluestore", "bluestore_write_new", 1),
		writes("bluestore", "bluestore_write_small_unused", 1),
		writes("bluestore", "deferred_write_ops", 1),
		writes("bluestore", "kv_commit_lat", 1),
		writes("bluefs", "logged_bytes", 4096),
		time("op_w_process_latency", "writes.process_time", "client writes in the primary OSD after its queue"),
		time("op_w_prepare_latency", "writes.prepare_time", "client writes in the primary OSD after its queue, until they are submitted to BlueStore and other OSDs"),
		time("op_r_process_latency", "reads.process_time", "client reads in the primary OSD after its queue"),
		time("op_r_prepare_latency", "reads.prepare_time", "client reads in the primary OSD after its queue, until they are read or requested from other OSDs"),
	}
	for _, s := range [][]counter{
		stage("osd", "op_w_latency", "writes", "client writes in the primary OSD"),
		stage("osd", "op_r_latency", "reads", "client reads in the primary OSD"),
		stage("osd", "op_before_dequeue_op_lat", "queue", "operations in the queue of an OSD"),
		stage("osd", "subop_w_latency", "replicas", "writes of other copies"),
		stage("bluestore", "commit_lat", "commits", "commits to BlueStore"),
		stage("bluestore", "kv_commit_lat", "flushes", "flushes of the device"),
		stage("bluestore", "read_wait_aio_lat", "device_reads", "reads of the device"),
	} {
		all = append(all, s...)
	}
	return all
}

// Metrics that do not come from performance counters: see Metrics.
const (
	CPU         = "ceph.cpu"
	Resident    = "ceph.resident"
	DeviceWrite = "ceph.device_write_bytes"
	DeviceRead  = "ceph.device_read_bytes"
	Up          = "ceph.up"
	Down        = "ceph.down"
	Degraded    = "ceph.degraded"
	Slowest     = "ceph.slowest"
	SlowestBy   = "ceph.slowest.ratio"
	Stored      = "ceph.stored"
	Allocated   = "ceph.allocated"
	throttled   = "ceph.throttle"
	refused     = "ceph.throttle.refusals"

	NetworkRTT   = "ceph.network.rtt"
	SitesRTT     = "ceph.sites.rtt"
	NetworkBytes = "ceph.network.bytes"
	NetworkDrops = "ceph.network.drops"
	NetworkCPU   = "ceph.network.cpu"
)

// Metrics are the metrics of a cluster.
func Metrics() []measure.Metric {
	all := []measure.Metric{
		{Name: CPU, Unit: "1", Doc: "CPUs used by the OSDs"},
		{Name: Resident, Unit: "B", Doc: "resident set size of the OSDs"},
		{Name: DeviceWrite, Unit: "B/s", Doc: "bytes that the OSDs write to their devices"},
		{Name: DeviceRead, Unit: "B/s", Doc: "bytes that the OSDs read from their devices"},
		{Name: Up, Unit: "1", Doc: "number of OSDs that answer"},
		{Name: Down, Unit: "1", Doc: "number of OSDs that do not answer, or of a cluster you provide, that are down or were in the load and are not marked out"},
		{Name: Degraded, Unit: "1", Doc: "number of placement groups without all copies, at most"},
		{Name: Slowest, Unit: "1", Doc: "number of the OSD whose commits, or reads of the device, are slowest against the median of the OSDs"},
		{Name: SlowestBy, Unit: "1", Doc: "ratio of its mean latency of these to the median"},
		{Name: NetworkRTT, Unit: "s", Doc: "round trip between two OSDs in namespaces on the same site, measured by a TCP connection"},
		{Name: SitesRTT, Unit: "s", Doc: "the same between OSDs on different sites"},
		{Name: NetworkBytes, Unit: "B/s", Doc: "bytes of packets that the router between the OSDs forwards"},
		{Name: NetworkDrops, Unit: "1/s", Doc: "packets that it drops"},
		{Name: NetworkCPU, Unit: "1", Doc: "CPUs that it uses"},
	}
	for _, c := range osdCounters() {
		if !slices.Contains(all, c.metric) {
			all = append(all, c.metric)
		}
	}
	return slices.Concat(all, []measure.Metric{
		{Name: throttled + ".count", Unit: "1/s", Doc: "number of waits for a throttle of the OSDs"},
		{Name: throttled + ".time", Unit: "s/s", Doc: "time of waits for a throttle of the OSDs, in seconds per second"},
		{Name: refused, Unit: "1/s", Doc: "messages of clients that a throttle of the OSDs refused to read yet: one per millisecond for each connection that waits"},
	}, limitMetrics())
}

// Drained are ratios over a load and what the OSDs still write after it.
func Drained() []service.Ratio {
	return []service.Ratio{{
		Metric: measure.Metric{Name: "ceph.amplification.drained", Unit: "1", Doc: "bytes written to devices per byte that clients write, with what is written after the load", Better: measure.LowerIsBetter},
		Of:     DeviceWrite, Per: []string{"ceph.write_bytes"},
	}}
}

// Ratios are means and shares of the metrics.
func Ratios() []service.Ratio {
	latency := func(stage, doc string) service.Ratio {
		return service.Ratio{
			Metric: measure.Metric{Name: "ceph." + stage + ".latency", Unit: "s", Doc: "mean time of " + doc, Better: measure.LowerIsBetter},
			Of:     "ceph." + stage + ".time", Per: []string{"ceph." + stage + ".count"},
		}
	}
	amplification := func(name, of, per, doc string) service.Ratio {
		return service.Ratio{Metric: measure.Metric{Name: "ceph.amplification." + name, Unit: "1", Doc: doc, Better: measure.LowerIsBetter}, Of: of, Per: []string{per}}
	}
	size := func(name, of, per, doc string) service.Ratio {
		return service.Ratio{Metric: measure.Metric{Name: "ceph." + name, Unit: "B", Doc: doc}, Of: of, Per: []string{per}}
	}
	return []service.Ratio{
		amplification("write", DeviceWrite, "ceph.write_bytes", "bytes written to devices per byte that clients write"),
		amplification("read", DeviceRead, "ceph.read_bytes", "bytes read from devices per byte that clients read"),
		amplification("space", Allocated, Stored, "space allocated per byte stored; below 1 with compression"),
		{Metric: measure.Metric{Name: "ceph.operation_cpu", Unit: "s", Doc: "CPU time of the OSDs per client operation", Better: measure.LowerIsBetter}, Of: CPU, Per: []string{"ceph.operations"}},
		latency("writes", "a client write in the primary OSD, from its arrival to its answer"),
		latency("reads", "a client read in the primary OSD"),
		latency("queue", "an operation in the queue of an OSD"),
		latency("replicas", "a write of another copy, seen by the OSD that holds it"),
		latency("commits", "a commit to BlueStore"),
		latency("flushes", "a flush of the device"),
		latency("device_reads", "a read of the device"),
		latency("throttle", "a wait for a throttle of the OSDs"),
		size("write_size", "ceph.write_bytes", "ceph.writes.count", "mean size of client writes"),
		size("read_size", "ceph.read_bytes", "ceph.reads.count", "mean size of client reads"),
		size("device_write_size", DeviceWrite, "ceph.device_writes.count", "mean size of writes to the devices"),
		size("device_read_size", DeviceRead, "ceph.device_reads.count", "mean size of reads of the devices"),
	}
}

// Dump is the answer to perf dump: a number, or the count and the sum of an average, by section and name.
type Dump map[string]map[string]Value

// Value is a counter.
type Value struct{ Count, Sum float64 }

// UnmarshalJSON reads a number as a count. Other kinds of values, such as histograms, are 0.
func (v *Value) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &v.Count) == nil {
		return nil
	}
	var average struct {
		Count float64 `json:"avgcount"`
		Sum   float64 `json:"sum"`
	}
	if json.Unmarshal(text, &average) == nil {
		v.Count, v.Sum = average.Count, average.Sum
	}
	return nil
}

// Take adds the counters of an OSD to all.
func (d Dump) Take(all map[string]float64) {
	for _, c := range osdCounters() {
		v, ok := d[c.section][c.name]
		switch {
		case !ok:
		case c.sum:
			all[c.metric.Name] += v.Sum
		default:
			all[c.metric.Name] += v.Count / max(1, c.per)
		}
	}
	for section, values := range d {
		if strings.HasPrefix(section, "throttle-") {
			all[throttled+".count"] += values["wait"].Count
			all[throttled+".time"] += values["wait"].Sum
		}
		if strings.HasPrefix(section, "throttle-osd_client_") { // read again after 1 ms: ProtocolV2::throttle_message (src/msg/async/ProtocolV2.cc)
			all[refused] += values["get_or_fail_fail"].Count
		}
	}
}
