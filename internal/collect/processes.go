package collect

import (
	"context"

	"plimsoll/internal/hoststat"
)

// Processes counts the CPU time of processes by their part in the study.
func Processes() Source {
	s := Source{
		Name:  "processes",
		Doc:   "processes of the service, of the load generator and of others on the host, from /proc/PID",
		Needs: []string{"processes"},
		Host: func(_ context.Context, p Env) (Flatten, error) {
			return func(i *hoststat.Interval, values map[string]float64) { flattenProcesses(i, p.Served, values) }, nil
		},
	}
	for _, part := range []struct {
		name hoststat.Part
		of   string
	}{{hoststat.Service, "the service"}, {hoststat.Generator, "the load generator"}, {hoststat.Other, "all other programs"}} {
		at := "processes." + string(part.name) + "."
		s.Counters = append(s.Counters,
			cumulative(at+"cpu", "1", "CPUs used by "+part.of),
			cumulative(at+"run_delay", "1", "threads of "+part.of+" that were ready and waited for a CPU"),
			cumulative(at+"migrations", "1/s", "changes of CPU seen between samples, of threads of "+part.of),
			cumulative(at+"switches.voluntary", "1/s", "context switches of "+part.of+" that waited for something"),
			cumulative(at+"switches.involuntary", "1/s", "context switches of "+part.of+" that were preempted"),
		)
	}
	return s
}

func flattenProcesses(i *hoststat.Interval, served bool, values map[string]float64) {
	for n := range i.Processes {
		p := &i.Processes[n]
		part := p.Part(served)
		if part == hoststat.Lab {
			continue
		}
		at := "processes." + string(part) + "."
		values[at+"cpu"] += p.Busy()
		if !p.Detailed { // its threads were not read
			continue
		}
		values[at+"run_delay"] += p.RunDelay
		values[at+"switches.voluntary"] += p.Voluntary
		values[at+"switches.involuntary"] += p.Involuntary
		for _, t := range p.Tasks {
			values[at+"migrations"] += t.Moves
		}
	}
}
