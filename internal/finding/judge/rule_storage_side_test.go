package judge

import (
	"maps"
	"testing"
)

func TestStorageSide(t *testing.T) {
	const rule = "storage_side"
	// Writes of 10 ms as the clients see them, of which the parts that are not named pass outside the OSDs.
	path := func(more map[string]float64) map[string]float64 {
		all := map[string]float64{
			"mean": .01, "ceph.operations": 100, "ceph.up": 4, "ceph.writes.count": 100, "ceph.writes.time": .8, "ceph.writes.latency": .008, "ceph.reads.count": 0, "ceph.reads.time": 0,
			"ceph.replicas.count": 100, "ceph.queue.latency": .0005, "ceph.commits.latency": .004, "ceph.replicas.latency": .005, "ceph.flushes.latency": .002, "ceph.flushes.time": .8,
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
		"CPU of OSDs":   side(map[string]float64{"processes.service.run_delay": 3}, 32),
		"CPU of client": side(map[string]float64{"ceph.writes.time": .2, "ceph.writes.latency": .002, "ceph.commits.latency": .001, "ceph.replicas.latency": .001, "processes.generator.run_delay": 2}, 32),
		"network":       side(map[string]float64{"ceph.commits.latency": .001, "ceph.replicas.latency": .001}, 32),
		"devices":       side(map[string]float64{"ceph.commits.latency": .007, "ceph.replicas.latency": .007, "ceph.flushes.latency": .006, "ceph.flushes.time": 3.6}, 32),
		"concurrency":   side(nil, 2),
	} {
		t.Run(name, func(t *testing.T) { fires(t, w, rule, rule+" "+name) })
	}
	silent(t, side(nil, 32), rule)                                                                                 // nothing stands out
	silent(t, side(map[string]float64{"processes.service.cpu": .05, "processes.service.run_delay": .2}, 32), rule) // OSDs that do little
	silent(t, side(map[string]float64{"ceph.queue.latency": .004}, 2), rule)                                       // few operations, and OSDs that are busy
	even := side(map[string]float64{"ceph.slowest.ratio": 4}, 32)
	even.arms, even.study, even.demand = []float64{1, 1}, nil, threads(32, 32) // A/A
	silent(t, even, rule)
	without := side(nil, 2)
	without.values = counting(map[string]float64{"ceph.operations": 100})
	notJudged(t, without, rule+": no ceph.writes.latency counter and no ceph.reads.latency counter")
}
