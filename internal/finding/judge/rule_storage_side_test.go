package judge

import (
	"maps"
	"testing"
)

func TestStorageSide(t *testing.T) {
	const rule = "storage_side"
	// Writes of 10 ms as the clients see them.
	path := func(more map[string]float64) map[string]float64 {
		all := map[string]float64{
			"ceph.operations": 100, "ceph.up": 4, "ceph.writes.count": 100, "ceph.reads.count": 0, "ceph.latency.client": .002, "ceph.latency.queue": .0005, "ceph.latency.commit": .004,
			"ceph.latency.flush": .002, "ceph.latency.copies": .0025, "ceph.latency.read": 0, "ceph.latency.rest": .001, "ceph.replicas.latency": .005, "ceph.flushes.time": .8,
			"ceph.slowest": 2, "ceph.slowest.ratio": 1.1, "processes.service.cpu": 1, "processes.service.run_delay": .1, "processes.generator.cpu": .5, "processes.generator.run_delay": .05,
		}
		maps.Copy(all, more)
		return all
	}
	side := func(more map[string]float64, outstanding int) world {
		return world{blocks: 6, arms: []float64{1}, cv: .01, values: counting(path(more)), demand: threads(outstanding), study: wanting}
	}
	for name, w := range map[string]world{
		"one OSD":       side(map[string]float64{"ceph.slowest.ratio": 4}, 32),
		"CPU of OSDs":   side(map[string]float64{"processes.service.run_delay": 30}, 32),
		"CPU of client": side(map[string]float64{"ceph.latency.client": .008, "ceph.latency.commit": .001, "ceph.latency.flush": .0005, "ceph.latency.copies": .0002, "ceph.latency.rest": .0003, "processes.generator.run_delay": 2}, 32),
		"network":       side(map[string]float64{"ceph.latency.commit": .001, "ceph.latency.flush": .0005, "ceph.latency.copies": .006, "ceph.latency.rest": .0005, "ceph.replicas.latency": .001}, 32),
		"devices":       side(map[string]float64{"ceph.latency.commit": .007, "ceph.latency.flush": .006, "ceph.latency.copies": .0003, "ceph.latency.rest": .0002, "ceph.replicas.latency": .007, "ceph.flushes.time": 3.6}, 32),
		"concurrency":   side(nil, 2),
		"reads": side(map[string]float64{
			"ceph.writes.count": 0, "ceph.reads.count": 100, "ceph.latency.commit": 0, "ceph.latency.flush": 0, "ceph.latency.copies": 0, "ceph.latency.read": .003, "ceph.latency.queue": .004, "ceph.device_reads.time": 6,
		}, 32),
		"throttle":    side(map[string]float64{"ceph.latency.client": .008, "ceph.latency.commit": .001, "ceph.latency.flush": .0005, "ceph.latency.copies": .0002, "ceph.latency.rest": .0003, "ceph.throttle.time": 0, "ceph.throttle.refusals": 2000}, 32),
		"image limit": side(map[string]float64{"ceph.latency.client": .008, "ceph.latency.commit": .001, "ceph.latency.flush": .0005, "ceph.latency.copies": .0002, "ceph.latency.rest": .0003, "ceph.qos.iops": 10100}, 32),
	} {
		t.Run(name, func(t *testing.T) { fires(t, w, rule, rule+" "+name) })
	}
	silent(t, side(nil, 32), rule)                                                                                                                                  // nothing stands out
	silent(t, side(map[string]float64{"processes.service.cpu": .05, "processes.service.run_delay": .2}, 32), rule)                                                  // OSDs that do little
	silent(t, side(map[string]float64{"ceph.latency.queue": .004, "ceph.latency.copies": .0005, "ceph.latency.commit": .003, "ceph.latency.rest": .0005}, 2), rule) // few operations, and OSDs that are busy
	even := side(map[string]float64{"ceph.slowest.ratio": 4}, 32)
	even.arms, even.study, even.demand = []float64{1, 1}, nil, threads(32, 32) // A/A
	silent(t, even, rule)
	notJudged(t, side(nil, 32), rule+": no ceph.throttle.time counter, which tells of throttles of the OSDs")
	far := side(map[string]float64{"ceph.latency.client": .008, "ceph.latency.commit": .001, "ceph.latency.flush": .0005, "ceph.latency.copies": .0002, "ceph.latency.rest": .0003, "ceph.throttle.time": 0}, 32)
	notJudged(t, far, rule+": most of the latency is outside the OSDs, and no counter tells of the network between clients and OSDs")
	without := side(nil, 2)
	without.values = counting(map[string]float64{"ceph.operations": 100})
	notJudged(t, without, rule+": no ceph.latency.client counter")
}
