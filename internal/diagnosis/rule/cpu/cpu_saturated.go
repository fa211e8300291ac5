package cpu

import (
	"strings"

	"plimsoll/internal/diagnosis"
)

const (
	// saturated is the share of busy CPU time from which on the run queues are hardly ever empty.
	saturated = 0.95
	// leastQueued is the share of time in which a thread must wait for a CPU: a host that is busy
	// with exactly one thread per CPU loses nothing.
	leastQueued = 0.1
)

// cpuSaturated finds hosts without idle CPUs on which threads wait. Steal looks alike and is
// cpu_steal: the time is not used by this host.
var cpuSaturated = diagnosis.Rule{
	Name: "cpu_saturated", Area: diagnosis.CPU,
	Doc:      "all CPUs are busy and threads wait for them",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"hot_thread", "periodic_stall"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		busy, total, waiting := used(e.Mean), 0., 0.
		for _, c := range e.Mean.CPUs {
			total += c.Total()
		}
		asked, delayed := 0., 0. // CPU time and waits of the processes that the question is about
		for i := range e.Mean.Processes {
			p := &e.Mean.Processes[i]
			waiting += p.RunDelay
			if e.Asked(p) {
				asked, delayed = asked+p.Busy(), delayed+p.RunDelay
			}
		}
		pressure, known := e.Mean.Pressure["cpu"]
		if busy < saturated*total || waiting < leastQueued || known && pressure.Some < leastQueued || len(e.Focus) > 0 && delayed < leastQueued*(asked+delayed) {
			return nil
		}
		names, facts := busiest(e, 3)
		by := ""
		if len(names) > 0 {
			by = " The largest users, in CPUs: " + strings.Join(names, ", ") + "."
		}
		return []diagnosis.Finding{{
			Says:       "All {CPUs} CPUs are busy, and {waiting} threads wait for one on average." + by,
			Confidence: diagnosis.Certain,
			Impact:     min(1, waiting/(waiting+busy)),
			Evidence:   append([]diagnosis.Fact{diagnosis.Number("CPUs", e.Online()), diagnosis.Number("waiting", waiting), diagnosis.Share("busy", busy/total)}, facts...),
			Change:     &diagnosis.Change{Says: "add CPUs, move one of the largest users to another host, or lower its demand"},
		}}
	},
}
