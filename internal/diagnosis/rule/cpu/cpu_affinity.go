package cpu

import (
	"fmt"
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/platform"
)

const (
	// leastFilled is the share of the allowed CPUs that a restricted program uses.
	leastFilled = 0.5
	// leastOwn is the share of their use that is its own: else a neighbour is the trouble.
	leastOwn = 0.6
	// leastCrowded is the number of threads that wait per allowed CPU.
	leastCrowded = 0.2
)

// cpuAffinity finds programs that may run on a few CPUs only, wait there, and leave other CPUs
// idle. A control group's CPU set looks alike: it restricts all members, and is
// cpuset_too_small. A worker per CPU, each pinned to its own, is a different affinity of each.
var cpuAffinity = diagnosis.Rule{
	Name: "cpu_affinity", Area: diagnosis.CPU,
	Doc:      "a program waits for the CPUs that its affinity allows, while others are idle",
	Needs:    []string{"cpus", "processes"},
	Explains: confined,
	Episodes: true,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for _, r := range restricted(e) {
			if !r.crowded(e) || r.bySet(e) {
				continue
			}
			first := r.program.Processes[0]
			found = append(found, diagnosis.Finding{
				Subject:    r.program.Subject(),
				Says:       "{subject} may run on " + diagnosis.Plural(float64(len(r.cpus)), "CPU ", "CPUs ") + cpuList(r.cpus) + " only: {waiting} threads wait for them on average, while {idle} other CPUs are idle.",
				Confidence: diagnosis.Certain,
				Impact:     r.impact(),
				Evidence:   r.evidence(e),
				Change: &diagnosis.Change{
					Says:    fmt.Sprintf("let %s run on all CPUs", r.program.Name),
					Command: allCPUs(e, r.program, first.Group),
					Factor:  "host.affinity",
				},
				Prediction: r.prediction(e),
			})
		}
		return found
	},
}

// confined are consequences of too few CPUs for a program.
var confined = []string{
	"hot_thread", "cpu_saturated", "too_few_workers", "noisy_neighbour", "too_many_workers", "smt_contention", "ready_time", "softirq_on_one_cpu",
	"client_limit", "cache_topology", "listen_queue", "lock_convoy",
}

// restriction is a program with the CPUs that it may run on, fewer than are online.
type restriction struct {
	program *diagnosis.Program
	cpus    []int
}

// restricted are the programs that wait for CPUs and may not run on all of them.
func restricted(e *diagnosis.Evidence) (all []restriction) {
	for _, p := range e.Programs() {
		if p.RunDelay < leastCrowded {
			continue
		}
		may := allowedCPUs(e, p)
		for _, t := range p.Threads() { // threads may have an affinity of their own
			if t.CPU < len(may) && t.Busy() > 0 {
				may[t.CPU] = true
			}
		}
		var cpus []int
		for n, yes := range may {
			if yes {
				cpus = append(cpus, n)
			}
		}
		if n := float64(len(cpus)); n > 0 && n < e.Online() && !p.Helper() && e.Asked(p.Processes[0]) {
			all = append(all, restriction{p, cpus})
		}
	}
	return all
}

// crowded reports whether the program waits on its CPUs while others are idle.
func (r *restriction) crowded(e *diagnosis.Evidence) bool {
	n := float64(len(r.cpus))
	return r.elsewhere(e) >= e.IdleRoom() && r.program.RunDelay >= leastCrowded*n && r.program.Busy >= leastFilled*n && r.program.Busy >= leastOwn*r.busy(e)
}

// elsewhere is the number of idle CPUs that the program may not use.
func (r *restriction) elsewhere(e *diagnosis.Evidence) (idle float64) {
	for n, c := range e.Mean.CPUs {
		if !slices.Contains(r.cpus, n) {
			idle += c.Idle + c.IOWait
		}
	}
	return idle
}

// busy is the use of the CPUs that the program may use, by all programs.
func (r *restriction) busy(e *diagnosis.Evidence) (busy float64) {
	for _, n := range r.cpus {
		if n < len(e.Mean.CPUs) {
			busy += e.Mean.CPUs[n].Busy()
		}
	}
	return busy
}

// bySet reports whether the CPU set of the program's group restricts it.
func (r *restriction) bySet(e *diagnosis.Evidence) bool {
	set := r.set(e)
	return set != "" && float64(len(cpusOf(set))) <= float64(len(r.cpus)) && len(cpusOf(set)) > 0
}

// set is the CPU set of the program's group.
func (r *restriction) set(e *diagnosis.Evidence) string {
	first := r.program.Processes[0]
	for _, name := range []string{first.SetGroup, first.Group} {
		if g := e.Group(name); g != nil && g.CPUSet != "" {
			return g.CPUSet
		}
	}
	return ""
}

func cpusOf(list string) []int {
	cpus, err := platform.ParseCPUs(list)
	if err != nil {
		return nil
	}
	return cpus
}

func (r *restriction) impact() float64 {
	return min(1, r.program.RunDelay/(r.program.RunDelay+r.program.Busy))
}

func (r *restriction) evidence(e *diagnosis.Evidence) []diagnosis.Fact {
	return []diagnosis.Fact{diagnosis.Number("allowed CPUs", float64(len(r.cpus))), diagnosis.Number("waiting", r.program.RunDelay), diagnosis.Number("idle", r.elsewhere(e)), diagnosis.Number("used", r.program.Busy)}
}

// prediction is the work that idle CPUs could take over: as many threads as wait.
func (r *restriction) prediction(e *diagnosis.Evidence) *diagnosis.Prediction {
	gain := min(r.program.RunDelay, r.elsewhere(e)) / max(r.program.Busy, 1e-9)
	return &diagnosis.Prediction{Low: 0.5 * gain, High: gain, Of: "throughput of " + r.program.Name, Basis: "threads that wait, at most the idle CPUs / CPUs used"}
}

// allCPUs is the command that lifts the affinity of a program.
func allCPUs(e *diagnosis.Evidence, p *diagnosis.Program, group string) string {
	command := ""
	for i, one := range p.Processes {
		if i == 8 {
			break
		}
		if i > 0 {
			command += "; "
		}
		command += fmt.Sprintf("taskset --all-tasks --cpu-list --pid %s %d", cpuList(onlineCPUs(e)), one.PID)
	}
	if unit, ok := diagnosis.SystemdUnit(group); ok {
		command += "   # and CPUAffinity= of " + unit
	}
	return command
}
