// Package diagnosistest builds the evidence of hosts for tests of rules; tests only.
package diagnosistest

import (
	"bytes"
	"fmt"
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// Seconds is the length of the evidence of Healthy, in intervals of one second.
const Seconds = 60

// Healthy is a host of two threads per core, eight CPUs per last-level cache and 32 per NUMA
// node that serves web pages from a database at a quarter of its CPUs, without trouble.
func Healthy(cpus int) *diagnosis.Evidence {
	e := &diagnosis.Evidence{Recording: hoststat.Recording{Facts: facts(cpus), Mean: mean(cpus)}}
	for n := range Seconds {
		i := mean(cpus)
		i.At, i.Seconds = float64(n+1), 1
		for p := range i.Processes {
			i.Processes[p].Tasks = nil
		}
		e.Intervals = append(e.Intervals, *i)
	}
	return e
}

// Each changes the mean and all intervals alike.
func Each(e *diagnosis.Evidence, change func(i *hoststat.Interval)) {
	change(e.Mean)
	for n := range e.Intervals {
		change(&e.Intervals[n])
	}
}

// Run adds a process to the mean and to all intervals, as the busiest one. It lacks only what
// the caller left empty: a state, a command, the CPUs allowed, and one thread that does all.
func Run(e *diagnosis.Evidence, p hoststat.Process) {
	complete(&p, len(e.Facts.CPUs))
	Each(e, func(i *hoststat.Interval) {
		one := p
		one.Tasks = append([]hoststat.Thread(nil), p.Tasks...)
		if i != e.Mean {
			one.Tasks = nil
		}
		i.Processes = append([]hoststat.Process{one}, i.Processes...)
	})
}

func complete(p *hoststat.Process, cpus int) {
	p.Detailed = true
	if p.State == "" {
		p.State = "S"
	}
	if p.Command == "" {
		p.Command = "/usr/bin/" + p.Name
	}
	if p.Allowed == "" {
		p.Allowed = fmt.Sprintf("0-%d", cpus-1)
	}
	if p.Group == "" {
		p.Group = "/system.slice/" + p.Name + ".service"
	}
	if p.CPU == 0 {
		_, _ = fmt.Sscan(p.Allowed, &p.CPU) // the first of the list
	}
	if p.Tasks == nil {
		p.Tasks = []hoststat.Thread{{
			TID: p.PID, Name: p.Name, State: p.State, CPU: p.CPU, User: p.User, System: p.System, RunDelay: p.RunDelay, Runs: p.Voluntary + p.Involuntary, Voluntary: p.Voluntary,
		}}
	}
	p.Threads = max(p.Threads, len(p.Tasks))
}

// Use makes CPUs busy with user time, the others stay as they are.
func Use(e *diagnosis.Evidence, busy float64, cpus ...int) {
	Each(e, func(i *hoststat.Interval) {
		for _, n := range cpus {
			i.CPUs[n] = hoststat.CPU{User: busy, Idle: 1 - busy}
		}
	})
}

// Found judges evidence by the one rule of a name, and fails a test in which it is not judged.
func Found(t *testing.T, rules []diagnosis.Rule, name string, e *diagnosis.Evidence) []diagnosis.Finding {
	t.Helper()
	for _, r := range rules {
		if r.Name != name {
			continue
		}
		found, unjudged := diagnosis.Judge(e, []diagnosis.Rule{r})
		if len(unjudged) > 0 {
			t.Fatalf("not judged: %v", unjudged)
		}
		for _, f := range found {
			if f.Impact < 0 || f.Impact > 1 || f.Says == "" || bytes.ContainsAny([]byte(f.Says), "{}") {
				t.Errorf("finding %+v", f)
			}
		}
		return found
	}
	t.Fatalf("no rule %q", name)
	return nil
}
