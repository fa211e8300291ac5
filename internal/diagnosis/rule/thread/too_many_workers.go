package thread

import (
	"plimsoll/internal/diagnosis"
)

const (
	// mostWaiting is how many times its CPU time the threads of a service wait for CPUs.
	mostWaiting = 4.
	// mostWaitingThreads is the same for the threads of one process that computes: they usually
	// wait for one another at barriers, and a program needs one per CPU.
	mostWaitingThreads = 1.8
)

// tooManyWorkers finds services with many more runnable threads than CPUs, and computations with
// many more threads than CPUs in one process. Separate jobs that compute look alike: their
// throughput does not depend on their number, and they are cpu_saturated.
var tooManyWorkers = diagnosis.Rule{
	Name: "too_many_workers", Area: diagnosis.CPU,
	Doc:      "a program has many more runnable threads than there are CPUs",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"cpu_saturated", "rescheduling_storm", "lock_convoy", "noisy_neighbour"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, p := range e.Programs() {
			if p.Busy < 0.5*e.Online() || client(p) || !e.Asked(p.Processes[0]) {
				continue
			}
			confidence, advice := diagnosis.Likely, "let "+p.Name+" work on one to two requests per CPU at a time and queue the others: a smaller pool of workers or connections"+hint(p.Name)
			switch first := p.Processes[0]; {
			case p.Serves() && p.RunDelay >= mostWaiting*p.Busy:
			case first.Busy() >= 0.8*p.Busy && first.RunDelay >= mostWaitingThreads*first.Busy() && (!p.Serves() || e.Computes(p)):
				confidence, advice = diagnosis.Possible, "give "+p.Name+" one thread per CPU (OMP_NUM_THREADS, --threads, -j)"
			default:
				continue
			}
			_, involuntary := p.Switches()
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       "{runnable} threads of {subject} want to run on {CPUs} CPUs: each waits {times} times as long as it works, and is preempted {preempted} per CPU used.",
				Confidence: confidence,
				Impact:     min(1, p.RunDelay/(p.RunDelay+p.Busy)),
				Evidence: []diagnosis.Fact{
					diagnosis.Number("runnable", p.RunDelay+p.Busy), diagnosis.Number("CPUs", e.Online()), diagnosis.Number("times", p.RunDelay/p.Busy), diagnosis.Rate("preempted", involuntary/p.Busy),
				},
				Change: &diagnosis.Change{Says: advice},
			})
		}
		return found
	},
}
