package judge

import (
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/study"
)

func TestWorkingSetInPageCache(t *testing.T) {
	const rule = "working_set_in_page_cache"
	reads := func(int) load.Demand {
		return load.Demand{Concurrency: 4, Classes: []load.Class{{Name: "read", Share: 1, Bytes: 4096}}}
	}
	w := world{blocks: 3, arms: []float64{1}, cv: .01, demand: reads, values: counting(map[string]float64{"disk.read.bytes": 2e5})}
	w.study = func(s *study.Study) { s.Workload.Settings["direct"] = "false" }
	fires(t, w, rule, rule)
	mixed := world{blocks: 3, arms: []float64{1}, cv: .01, values: counting(map[string]float64{"disk.read.bytes": 1e5, "read.throughput": 2e7})}
	fires(t, mixed, rule, rule+"_mixed")

	w.values = counting(map[string]float64{"disk.read.bytes": 4.2e7}) // read-ahead reads more than is asked for
	silent(t, w, rule)
	w.demand, w.values = threads(4), counting(map[string]float64{"disk.read.bytes": 0}) // it only writes
	silent(t, w, rule)
	w.values = nil
	notJudged(t, w, rule+": no disk.read.bytes counter")
}
