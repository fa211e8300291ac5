// Package thread holds the rules about how programs use their threads: too few, too many, and
// what they wait for beside CPUs and disks.
package thread

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// All lists the rules.
func All() []diagnosis.Rule {
	return []diagnosis.Rule{clientLimit, tooFewWorkers, tooManyWorkers, hotThread, lockConvoy, periodicStall}
}

// mostSerial is the CPU time per second of threads that run one at a time, with the error of
// the readings.
const mostSerial = 1.1

// serial reports whether the threads of a process use one CPU together, and never more: its
// runtime or a lock lets one of them run at a time.
func serial(e *diagnosis.Evidence, p *hoststat.Process) bool {
	if steady := p.Busy() + p.RunDelay; steady < diagnosis.Full || steady > 2-diagnosis.Full {
		return false
	}
	seen, one := 0, 0
	for i := range e.Intervals {
		for n := range e.Intervals[i].Processes {
			if q := &e.Intervals[i].Processes[n]; q.PID == p.PID {
				seen++
				if q.Busy() <= mostSerial {
					one++
				}
				break
			}
		}
	}
	return seen > 0 && one == seen
}

// atLimit reports whether a thread runs, or is about to, nearly all the time.
func atLimit(t *hoststat.Thread) bool {
	return t.Busy() >= leastHot && t.Busy()+t.RunDelay >= diagnosis.Full
}
