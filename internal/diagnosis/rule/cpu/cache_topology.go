package cpu

import (
	"fmt"
	"math"

	"plimsoll/internal/diagnosis"
)

const (
	// wandering is the share of the changes of cache that threads without a home would make.
	wandering = 0.5
	// communicating is the rate of sleeps per second of CPU time from which on threads hand data
	// to one another often enough to profit from a common cache.
	communicating = 1000.
)

// cacheTopology finds programs whose threads communicate and wander between last-level caches,
// although one cache has enough CPUs for them. Programs that compute look alike, and lose little
// by a move; programs larger than a cache have no choice.
var cacheTopology = diagnosis.Rule{
	Name: "cache_topology", Area: diagnosis.CPU,
	Doc:   "threads that communicate wander between last-level caches",
	Needs: []string{"cpus", "processes"},
	Lacks: func(e *diagnosis.Evidence) string {
		if len(caches(e)) == 0 {
			return "no topology of caches"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		groups := caches(e)
		if len(groups) < 2 {
			return nil
		}
		room := 0
		for _, cpus := range groups {
			room = max(room, len(cpus))
		}
		chance := 1 - 1/float64(len(groups))
		for _, p := range e.Programs() {
			moves, weight, several := 0., 0., 0
			for _, t := range p.Threads() {
				if t.Busy() >= 0.05 {
					moves, weight, several = moves+t.CacheMoves*t.Busy(), weight+t.Busy(), several+1
				}
			}
			voluntary, _ := p.Switches()
			if several < 2 || p.Busy < 0.5 || p.Busy > 0.8*float64(room) || room < 2 || !e.Asked(p.Processes[0]) ||
				voluntary < communicating*p.Busy || moves/weight < wandering*chance {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       "{subject} uses {used} CPUs, and its threads communicate, but wander over {caches} last-level caches: {moves} of them are at another one a second later.",
				Confidence: diagnosis.Possible,
				Impact:     math.Min(0.1, 0.1*moves/weight), // a cold cache costs microseconds of each millisecond
				Evidence:   []diagnosis.Fact{diagnosis.Number("used", p.Busy), diagnosis.Number("caches", float64(len(groups))), diagnosis.Share("moves", min(1, moves/weight)), diagnosis.Rate("switches", voluntary)},
				Change:     &diagnosis.Change{Says: "keep " + p.Name + " on the CPUs of one cache; in a VM, give it a topology with the caches of its host", Command: nearby(e, p)},
			})
		}
		return found
	},
}

// caches are the CPUs by last-level cache.
func caches(e *diagnosis.Evidence) (groups [][]int) {
	seen := map[int]bool{}
	for n, c := range e.Facts.CPUs {
		if !c.Online || len(c.Cache) == 0 || seen[n] {
			continue
		}
		for _, other := range c.Cache {
			seen[other] = true
		}
		groups = append(groups, c.Cache)
	}
	return groups
}

// nearby is the command that keeps a program on the CPUs of the cache on which it ran most;
// empty if there is one cache only.
func nearby(e *diagnosis.Evidence, p *diagnosis.Program) string {
	groups := caches(e)
	if len(groups) < 2 {
		return ""
	}
	best, most := groups[0], -1.
	for _, cpus := range groups {
		on := 0.
		for _, t := range p.Threads() {
			for _, n := range cpus {
				if t.CPU == n {
					on += t.Busy()
				}
			}
		}
		if on > most && len(cpus) > 1 {
			best, most = cpus, on
		}
	}
	return fmt.Sprintf("taskset --all-tasks --cpu-list --pid %s %d", cpuList(best), p.Processes[0].PID)
}
