package thread

import (
	"math"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// idleWorkers is the share of the workers' time that all other threads of the program use at most.
const idleWorkers = 0.1

// tooFewWorkers finds services of which all workers are at their limit, fewer than CPUs, while
// CPUs are idle. Jobs that compute on some threads look alike and are silent. One thread of a
// program without workers is hot_thread.
var tooFewWorkers = diagnosis.Rule{
	Name: "too_few_workers", Area: diagnosis.CPU,
	Doc:      "all workers of a service are at their limit, and CPUs are idle",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"hot_thread", "listen_queue", "smt_contention"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		if e.Idle() < e.IdleRoom() {
			return nil
		}
		for _, p := range e.Programs() {
			if p.Helper() || client(p) || !e.Asked(p.Processes[0]) {
				continue
			}
			workers, busy := 0, 0.
			for _, t := range p.Threads() {
				if atLimit(&t) {
					workers, busy = workers+1, busy+t.Busy()
				}
			}
			if workers == 0 || workers == 1 && !worker(p.Processes[0]) || p.Busy-busy > idleWorkers*busy || p.SystemShare() < diagnosis.KernelWork && !e.Answers(p) || float64(workers) >= e.Online() {
				continue
			}
			better := math.Floor(float64(workers) * (1 + e.Idle()/busy))
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       diagnosis.Plural(float64(workers), "The one busy worker of {subject} is at its limit: it uses", "All {workers} busy workers of {subject} are at their limit: they use") + " {used} CPUs, while {idle} CPUs are idle.",
				Confidence: diagnosis.Likely,
				Impact:     min(1, e.Idle()/e.Online()),
				Evidence:   []diagnosis.Fact{diagnosis.Number("workers", float64(workers)), diagnosis.Number("used", busy), diagnosis.Number("idle", e.Idle()), diagnosis.Number("better", better)},
				Change:     &diagnosis.Change{Says: "run more workers of " + p.Name + ", up to one per CPU" + hint(p.Name)},
				Prediction: &diagnosis.Prediction{Low: 0, High: e.Idle() / busy, Of: "throughput of " + p.Name, Basis: "idle CPUs / CPUs used by the workers"},
			})
		}
		return found
	},
}

// worker reports whether a process is one of a pool: its title says so, or it is a well-known
// server with a setting for their number.
func worker(p *hoststat.Process) bool {
	return strings.Contains(p.Command, "worker") || strings.Contains(p.Command, "pool ") || hint(p.Name) != "" && !strings.HasPrefix(p.Name, "redis") && !strings.HasPrefix(p.Name, "valkey") && p.Name != "node"
}
