package report_test

import (
	"math"

	"plimsoll/internal/measure"
)

// addCluster adds the counters of a storage cluster with two copies: operations of 4 KiB, of which arms with odd numbers also read. The first
// arm waits for its devices, later ones more and more for other copies.
func addCluster(r *measure.Record, noise float64) {
	at := func(ms float64) float64 { return 1e-3 * ms * math.Exp(noise) }
	n := float64(r.Arm)
	writes, reads := 1600*math.Exp(noise), 0.
	r.Counters["ceph.latency.read"] = 0
	if r.Arm%2 == 1 {
		writes, reads = .3*writes, .7*writes
		r.Counters["ceph.latency.read"] = at(.4)
		r.Counters["ceph.device_read_bytes"], r.Counters["ceph.read_bytes"] = 4096*.8*reads, 4096*reads
		r.Counters["ceph.device_read_size"], r.Counters["ceph.read_size"] = 4096, 4096
	}
	for name, v := range map[string]float64{
		"latency.client": at(3.1), "latency.queue": at(.4), "latency.rest": at(.7), "latency.copies": at(.7 + 1.5*n), "latency.commit": at(3.8), "latency.flush": at(2.3),
		"writes.count": writes, "reads.count": reads, "write_bytes": 4096 * writes, "write_size": 4096, "log_bytes": 3.66 * 4096 * writes, "deferred_bytes": 1.99 * 4096 * writes,
		"device_write_bytes": (6.93 + n) * 4096 * writes, "device_write_size": 9000, "operation_cpu": 673e-6, "client_cpu": 140e-6 * (1 + n),
	} {
		r.Counters["ceph."+name] = v
	}
}
