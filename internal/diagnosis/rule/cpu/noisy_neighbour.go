package cpu

import (
	"slices"

	"plimsoll/internal/diagnosis"
)

const (
	// leastWait is the share of its runnable time in which a victim waits for CPUs.
	leastWait = 0.2
	// leastWork is the CPUs that a victim uses at least: less is a daemon that wakes for its own timers.
	leastWork = 0.01
	// leastLoud is the share of the CPUs that a neighbour uses at least.
	leastLoud = 0.2
	// mostIdle is the share of idle time of CPUs that are hardly ever free for a victim.
	mostIdle = 0.2
	// resident is the share of the intervals in which a victim was active: short jobs of a build
	// wait for one another, and are no victims.
	resident = 0.8
)

// noisyNeighbour finds a service that waits for CPUs which a program uses that computes without
// pause, or a program whose cache another one empties. A server and its client, the processes of
// a build, and threads of one program wait for one another as well: they are cpu_saturated.
var noisyNeighbour = diagnosis.Rule{
	Name: "noisy_neighbour", Area: diagnosis.CPU,
	Doc:      "a program waits for CPUs that another one uses, or loses its cache to it",
	Needs:    []string{"cpus", "processes"},
	Explains: []string{"cpu_saturated", "hot_thread", "too_many_workers", "client_limit", "too_few_workers", "lock_convoy"},
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, p := range serversFirst(e) {
			waits := p.RunDelay / max(p.RunDelay+p.Busy, 1e-9)
			if waits < leastWait || p.Busy < leastWork || !p.Serves() || p.Helper() || !e.Asked(p.Processes[0]) || !lives(e, p) {
				continue
			}
			loud, room := loudest(e, p)
			if loud == nil {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Says:       "{subject} waits for a CPU {waiting} of the time it wants to run, while " + loud.Subject() + " computes on {used} of the {CPUs} CPUs that both may use.",
				Confidence: diagnosis.Likely,
				Impact:     waits,
				Evidence:   []diagnosis.Fact{diagnosis.Share("waiting", waits), diagnosis.Number("used", loud.Busy), diagnosis.Number("CPUs", room), diagnosis.Number("used by the service", p.Busy)},
				Change:     priority(e, p, loud),
				Prediction: &diagnosis.Prediction{Low: -waits, High: 0, Of: "response time of " + p.Name, Basis: "waiting for CPUs / waiting and working"},
			})
			break
		}
		if len(found) == 0 {
			return cacheNeighbour(e)
		}
		return found
	},
}

// serversFirst are the programs, those that serve connections before their clients, which wait with them.
func serversFirst(e *diagnosis.Evidence) []*diagnosis.Program {
	programs := e.Programs()
	slices.SortStableFunc(programs, func(a, b *diagnosis.Program) int { return rank(e, a) - rank(e, b) })
	return programs
}

func rank(e *diagnosis.Evidence, p *diagnosis.Program) int {
	if e.Answers(p) {
		return 0
	}
	return 1
}

// loudest is the program that computes most on the CPUs that a program may use, and their number;
// nil if none uses a good part of them, or some of them are idle.
func loudest(e *diagnosis.Evidence, victim *diagnosis.Program) (loud *diagnosis.Program, room float64) {
	mine := allowedCPUs(e, victim)
	idle, all := 0., 0.
	for n := range mine {
		if mine[n] && n < len(e.Mean.CPUs) {
			idle, all = idle+e.Mean.CPUs[n].Idle+e.Mean.CPUs[n].IOWait, all+e.Mean.CPUs[n].Total()
		}
	}
	if idle > mostIdle*all {
		return nil, 0
	}
	for _, p := range e.Programs() {
		theirs := allowedCPUs(e, p)
		common := 0.
		for n := range mine {
			if mine[n] && theirs[n] {
				common++
			}
		}
		if p.Name == victim.Name && p.Group == victim.Group || common == 0 || p.Busy < leastLoud*common || !e.Computes(p) || loud != nil || e.Connected(victim, p) {
			continue
		}
		loud, room = p, common
	}
	return loud, room
}

// allowedCPUs says of each CPU whether a program may use it.
func allowedCPUs(e *diagnosis.Evidence, p *diagnosis.Program) []bool {
	allowed, last := make([]bool, len(e.Facts.CPUs)), ""
	for _, one := range p.Processes {
		if one.Allowed == last {
			continue
		}
		last = one.Allowed
		for _, n := range cpusOf(one.Allowed) {
			if n < len(allowed) && e.Facts.CPUs[n].Online {
				allowed[n] = true
			}
		}
	}
	return allowed
}

// lives reports whether the processes of a program were active nearly all the time.
func lives(e *diagnosis.Evidence, p *diagnosis.Program) bool {
	seen := 0
	for i := range e.Intervals {
		for n := range e.Intervals[i].Processes {
			if one := &e.Intervals[i].Processes[n]; one.PID == p.Processes[0].PID && one.Started == p.Processes[0].Started {
				seen++
				break
			}
		}
	}
	return float64(seen) >= resident*float64(len(e.Intervals))
}
