package counter

import (
	"maps"
	"slices"
	"sync"
)

// Totals are the counters of all OSDs.
type Totals struct {
	mu   sync.Mutex
	last map[int]map[string]float64 // by OSD: its counters when they were read last
	lost map[string]float64         // those of former processes of OSDs
	pids map[int]string             // of the processes that they are of; empty where these are not known
}

// Add adds up the counters of the OSDs that answered. One that did not keeps those it had, and one that started anew
// goes on from those, so that no sum runs backwards.
func (c *Totals) Add(read map[int]map[string]float64, pids map[int]string) map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		c.last, c.lost, c.pids = map[int]map[string]float64{}, map[string]float64{}, map[int]string{}
	}
	before := maps.Clone(c.last)
	for n, one := range read {
		if was, known := c.last[n]; known && pids[n] != c.pids[n] || one["ceph.commits.count"] < was["ceph.commits.count"] {
			for name, v := range was {
				if !gauge(name) {
					c.lost[name] += v
				}
			}
		}
		c.last[n], c.pids[n] = one, pids[n]
	}
	all := maps.Clone(c.lost)
	for n, one := range c.last {
		for name, v := range one {
			if _, answered := read[n]; answered || !gauge(name) {
				all[name] += v
			}
		}
	}
	all[Up] = float64(len(read))
	if n, by, ok := outlier(before, c.last); ok {
		all[Slowest], all[SlowestBy] = float64(n), by
	}
	return all
}

// gauge reports whether a metric of an OSD is a level and not a count.
func gauge(metric string) bool {
	return slices.Contains([]string{Resident, Stored, Allocated}, metric)
}

// outlier is the OSD with the slowest commits or reads of its device between two readings, and how many times as slow as the median they were.
func outlier(before, after map[int]map[string]float64) (osd int, ratio float64, ok bool) {
	for _, stage := range []string{"ceph.commits", "ceph.device_reads"} {
		if n, by, known := outlierOf(stage, before, after); known && (!ok || by > ratio) {
			osd, ratio, ok = n, by, true
		}
	}
	return osd, ratio, ok
}

// outlierOf is the slowest OSD at one stage.
func outlierOf(stage string, before, after map[int]map[string]float64) (osd int, ratio float64, ok bool) {
	const least = 10 // of the stage
	var all []float64
	most := 0.0
	for _, n := range slices.Sorted(maps.Keys(after)) {
		count := after[n][stage+".count"] - before[n][stage+".count"]
		mean := (after[n][stage+".time"] - before[n][stage+".time"]) / count
		if count < least || mean <= 0 {
			continue
		}
		if all = append(all, mean); mean > most {
			osd, most = n, mean
		}
	}
	if len(all) < 3 {
		return 0, 0, false
	}
	slices.Sort(all)
	return osd, most / all[(len(all)-1)/2], true
}
