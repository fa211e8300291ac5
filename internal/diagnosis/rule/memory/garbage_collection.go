package memory

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
)

const (
	// leastCollecting is the share of its CPU time that a program with enough heap does not reach: it is
	// below a tenth in most services, and rises without bound as the heap fills.
	leastCollecting = 0.2
	// leastCollectors is the CPUs that the threads of the collector use at least.
	leastCollectors = 0.2
)

// collectors begin the names of threads that collect garbage: of the JVM's collectors (parallel, G1, ZGC,
// Shenandoah, CMS), and of .NET.
var collectors = []string{"GC Thread#", "GC task thread", "G1 Conc#", "G1 Main", "G1 Service", "G1 Refine#", "ZWorker", "ZDriver", "Shenandoah", "CMS ", "Gang worker#", ".NET Server GC", ".NET BGC", ".NET SGC"}

// garbageCollection finds programs whose runtime collects garbage for much of their CPU time. Collectors of
// other runtimes, such as that of Go, have no threads of their own and are not seen.
var garbageCollection = diagnosis.Rule{
	Name: "garbage_collection", Area: diagnosis.Memory,
	Doc:      "a program spends much of its CPU time in garbage collection: its heap is too small, or it allocates too much",
	Needs:    []string{"processes"},
	Explains: []string{"periodic_stall", "lock_convoy", "hot_thread", "too_many_workers"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, p := range e.Services() {
			busy := 0.
			for _, t := range p.Threads() {
				if slices.ContainsFunc(collectors, func(prefix string) bool { return strings.HasPrefix(t.Name, prefix) }) {
					busy += t.Busy()
				}
			}
			share := min(1, busy/max(p.Busy, 1e-9))
			const rounding = 1.05 // more is of threads that were listed late, with all their lives
			if busy < leastCollectors || share < leastCollecting || busy > rounding*p.Busy || !e.Asked(p.Processes[0]) {
				continue
			}
			f := diagnosis.Finding{
				Subject:    p.Subject(),
				Confidence: diagnosis.Likely,
				Impact:     share,
				Says:       "{subject} spends {collecting} of its CPU time in garbage collection: its GC threads use {used by the collector} of {used} CPUs.",
				Evidence:   []diagnosis.Fact{diagnosis.Share("collecting", share), diagnosis.Number("used by the collector", busy), diagnosis.Number("used", p.Busy)},
				Change:     enlargeHeap(p),
				Prediction: &diagnosis.Prediction{Low: 0, High: share / (1 - min(0.95, share)), Of: "throughput of " + p.Name, Basis: "the CPU time of the collector"},
			}
			if e.Dominates(busy) {
				f.Explains = []string{"cpu_saturated"}
			}
			found = append(found, f)
		}
		return found
	},
}

// enlargeHeap names the limit of the heap where the command line has one.
func enlargeHeap(p *diagnosis.Program) *diagnosis.Change {
	one := p.Processes[0]
	c := &diagnosis.Change{Says: "give " + p.Name + " a larger heap, or make it allocate less"}
	if strings.HasPrefix(p.Name, "java") || strings.Contains(one.Command, "-Xm") {
		c.Command = fmt.Sprintf("jcmd %d GC.heap_info   # then restart it with a larger -Xmx", one.PID)
		for _, word := range strings.Fields(one.Command) {
			if strings.HasPrefix(word, "-Xmx") {
				c.Says = "give " + p.Name + " a larger heap than " + word + ", or make it allocate less"
			}
		}
	}
	return c
}
