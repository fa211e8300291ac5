package cpu

import (
	"slices"

	"plimsoll/internal/diagnosis"
)

const (
	// emptiedCache is the time of a read from the last-level cache that the cache cannot have:
	// those of servers take 10 to 45 ns, memory takes 70 and more.
	emptiedCache = 60e-9
	// leastProbes is the number of measurements; the second lowest counts, as a busy host
	// empties its cache now and then.
	leastProbes = 4
	// streaming is the resident memory of a program that no last-level cache of a host holds.
	streaming = 96 << 20
	// leastTraffic is the memory traffic per second below which a cache of 16 MiB is not emptied
	// in 10 ms.
	leastTraffic = 1.6e9
	// leastHarmed is the CPU time of a program that loses by it.
	leastHarmed = 0.25
)

// cacheNeighbour finds a program that computes on more memory than caches hold, while lines of
// the last-level cache are gone within milliseconds, beside another one that is busy. Without
// other busy programs there is no victim, and a busy host whose cache keeps its lines is fine.
func cacheNeighbour(e *diagnosis.Evidence) []diagnosis.Finding {
	var probes []float64
	for i := range e.Intervals {
		if l := e.Intervals[i].CacheLatency; l > 0 {
			probes = append(probes, l)
		}
	}
	slices.Sort(probes)
	traffic, counted := memoryTraffic(e)
	if len(probes) < leastProbes || probes[1] < emptiedCache || counted && traffic < leastTraffic {
		return nil
	}
	var loud, victim *diagnosis.Program
	for _, p := range e.Programs() {
		resident := 0.
		for _, one := range p.Processes {
			resident = max(resident, one.RSS)
		}
		switch {
		case loud == nil && e.Computes(p) && resident >= streaming && p.Busy >= 0.5:
			loud = p
		case victim == nil && p.Busy >= leastHarmed && !p.Helper() && e.Asked(p.Processes[0]) && lives(e, p):
			victim = p
		}
	}
	if loud == nil || victim == nil {
		return nil
	}
	facts := []diagnosis.Fact{diagnosis.Seconds("latency", probes[1]), diagnosis.Bytes("memory", loud.Processes[0].RSS), diagnosis.Number("used", loud.Busy)}
	confidence := diagnosis.Possible
	if counted {
		facts, confidence = append(facts, diagnosis.ByteRate("memory traffic", traffic)), diagnosis.Likely
	}
	return []diagnosis.Finding{{
		Subject:    victim.Subject(),
		Says:       "Lines of the last-level cache are gone within 2 ms (a read takes {latency}): " + loud.Subject() + " computes on {memory} of memory with {used} CPUs, and {subject} shares the cache with it.",
		Confidence: confidence,
		Impact:     min(0.5, 0.1*probes[1]/emptiedCache),
		Evidence:   facts,
		Change: &diagnosis.Change{
			Says:    "move " + loud.Name + " to another host or to CPUs with another last-level cache, or limit its share of the cache (resctrl)",
			Command: nearby(e, victim),
		},
	}}
}

// memoryTraffic is the bytes per second between caches and memory: as resctrl counts them, else
// cache misses by the PMU.
func memoryTraffic(e *diagnosis.Evidence) (bytes float64, counted bool) {
	for _, c := range e.Mean.Caches {
		bytes += c.Bytes
	}
	if len(e.Mean.Caches) > 0 {
		return bytes, true
	}
	const cacheLine = 64
	for _, c := range e.Mean.PMU {
		bytes += cacheLine * c.Misses
	}
	return bytes, len(e.Mean.PMU) > 0
}
