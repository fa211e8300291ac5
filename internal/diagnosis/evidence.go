package diagnosis

import (
	"cmp"
	"fmt"
	"slices"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
)

// Evidence is what rules judge.
type Evidence struct {
	hoststat.Recording
	Focus      []int // processes that the question is about; empty for all
	Own        []int // processes of plimsoll, which are not causes
	Generators []int // processes that generate the load of a trial
}

// Online is the number of CPUs online.
func (e *Evidence) Online() float64 {
	n := 0.
	for _, c := range e.Facts.CPUs {
		if c.Online {
			n++
		}
	}
	return n
}

// Idle is the number of idle CPUs, those waiting for I/O included.
func (e *Evidence) Idle() float64 {
	idle := 0.
	for _, c := range e.Mean.CPUs {
		idle += c.Idle + c.IOWait
	}
	return idle
}

// Group is a control group by its path; nil if it was not read.
func (e *Evidence) Group(path string) *cgroup.Group {
	i := slices.IndexFunc(e.Mean.Groups, func(g cgroup.Group) bool { return g.Path == path })
	if i < 0 {
		return nil
	}
	return &e.Mean.Groups[i]
}

// Program is the processes of one name in one control group, such as the workers of a server.
type Program struct {
	Name      string
	Group     string
	Processes []*hoststat.Process // in order of CPU time used
	Busy      float64             // CPUs used
	RunDelay  float64             // threads runnable and waiting for a CPU
	Reaped    float64             // CPUs used by their children that ended
	Faulted   float64             // page faults of those per second
}

// Programs are the programs that were active, in order of CPU time used; without plimsoll's.
func (e *Evidence) Programs() []*Program {
	var all []*Program
	for i := range e.Mean.Processes {
		p := &e.Mean.Processes[i]
		if slices.Contains(e.Own, p.PID) {
			continue
		}
		at := slices.IndexFunc(all, func(x *Program) bool { return x.Name == p.Name && x.Group == p.Group })
		if at < 0 {
			at = len(all)
			all = append(all, &Program{Name: p.Name, Group: p.Group})
		}
		one := all[at]
		one.Processes = append(one.Processes, p)
		one.Busy += p.Busy()
		one.RunDelay += p.RunDelay
		one.Reaped += p.Reaped
		one.Faulted += p.Faulted
	}
	slices.SortStableFunc(all, func(a, b *Program) int { return cmp.Compare(b.Busy, a.Busy) })
	return all
}

// Subject names a program with the PID of its busiest process: "nginx (1234)".
func (p *Program) Subject() string { return Subject(p.Processes[0]) }

// Subject names a process: "redis-server (1234)".
func Subject(p *hoststat.Process) string { return fmt.Sprintf("%s (%d)", p.Name, p.PID) }

// Asked reports whether the question is about a process.
func (e *Evidence) Asked(p *hoststat.Process) bool {
	return len(e.Focus) == 0 || slices.Contains(e.Focus, p.PID)
}
