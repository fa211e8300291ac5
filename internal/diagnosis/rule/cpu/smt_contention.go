package cpu

import (
	"fmt"

	"plimsoll/internal/diagnosis"
)

const (
	busyThread, idleThread = 0.8, 0.1
	// smtLoss is what a thread loses beside a busy one on its core: two give 1.2 to 1.3 times the
	// throughput of one (Marr et al., "Hyper-Threading Technology Architecture", Intel 2002).
	smtLoss = 0.35
)

// smtContention finds cores with both hardware threads busy while whole cores are idle. A host
// with all cores busy looks alike and has no choice.
var smtContention = diagnosis.Rule{
	Name: "smt_contention", Area: diagnosis.CPU,
	Doc:      "busy threads share cores, and whole cores are idle",
	Needs:    []string{"cpus", "processes"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		crowded, idle := 0., 0.
		on := map[int]bool{}
		for n, c := range e.Facts.CPUs {
			if !c.Online || len(c.Siblings) < 2 || c.Siblings[0] != n {
				continue
			}
			busy, free := 0, 0
			for _, s := range c.Siblings {
				if s >= len(e.Mean.CPUs) {
					continue
				}
				switch used := e.Mean.CPUs[s].Busy(); {
				case used >= busyThread:
					busy++
				case used <= idleThread:
					free++
				}
			}
			if busy == len(c.Siblings) {
				crowded++
				for _, s := range c.Siblings {
					on[s] = true
				}
			} else if free == len(c.Siblings) {
				idle++
			}
		}
		n := min(crowded, idle)
		if n < 1 {
			return nil
		}
		who := onCPUs(e, on)
		if who == nil || !e.Asked(who.Processes[0]) {
			return nil
		}
		return []diagnosis.Finding{{
			Subject:    who.Subject(),
			Says:       "All hardware threads of {crowded} cores are busy, mostly with {subject}, while {idle} cores are idle.",
			Confidence: diagnosis.Likely,
			Impact:     smtLoss * n / crowded,
			Evidence:   []diagnosis.Fact{diagnosis.Number("crowded", crowded), diagnosis.Number("idle", idle), diagnosis.Number("used", who.Busy)},
			Change: &diagnosis.Change{
				Says:    "let " + who.Name + " run on one hardware thread of each core",
				Command: fmt.Sprintf("taskset --all-tasks --cpu-list --pid %s %d", cpuList(firstThreads(e)), who.Processes[0].PID),
			},
			Prediction: &diagnosis.Prediction{Low: 0.1 * n / crowded, High: smtLoss / (1 - smtLoss) * n / crowded, Of: "throughput of " + who.Name, Basis: "two busy threads of a core do 1.2 to 1.3 times the work of one"},
		}}
	},
}

// firstThreads are the first hardware threads of all cores.
func firstThreads(e *diagnosis.Evidence) (cpus []int) {
	for n, c := range e.Facts.CPUs {
		if c.Online && (len(c.Siblings) == 0 || c.Siblings[0] == n) {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// onCPUs is the program that uses a set of CPUs most.
func onCPUs(e *diagnosis.Evidence, cpus map[int]bool) (who *diagnosis.Program) {
	most := 0.
	for _, p := range e.Programs() {
		busy := 0.
		for _, t := range p.Threads() {
			if cpus[t.CPU] {
				busy += t.Busy()
			}
		}
		if busy > most {
			who, most = p, busy
		}
	}
	return who
}
