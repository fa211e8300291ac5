package search

import (
	"context"
	"fmt"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/machines"
)

const (
	censusNames  = 3   // processes that are named
	littleCPU    = .02 // CPUs below which a process is not worth its name
	busyWorker   = .8  // CPUs for each thread, from which a generator is at its own limit
	littleWaited = .01 // share of time waiting for a CPU that indicates lack of CPU
	muchOthers   = .5  // of the host's CPUs used by others that tells it where the first is not known
	muchWithheld = .02 // of the CPU time wanted, by the hypervisor: it does so for milliseconds at a time
)

// explainVoid distinguishes lack of CPU from a generator at its own limit, and names the
// processes that used the CPU.
func (s *Search) explainVoid(p *measure.Probe, before, after *machines.Census) {
	busy := p.Values[measure.GeneratorCPU]
	waited, known := p.Values[measure.GeneratorWaited]
	who, others, withheld := "", 0., 0.
	if before != nil && after != nil && after.CPUs > 0 {
		var all []machines.User
		all, others = after.Users(before, machines.OwnNames()...)
		others /= float64(after.CPUs)
		withheld = after.Withheld(before)
		who = named(all, after.CPUs, withheld)
	}
	if busy > busyWorker || !(known && waited > littleWaited || others > muchOthers || withheld > muchWithheld) {
		return
	}
	p.Starved = true
	p.Reason = fmt.Sprintf("the host was busy: the generator used %s of its CPUs and waited for one %s of the time", measure.Percent(busy), measure.Percent(waited))
	if who != "" {
		p.Reason += "; meanwhile " + who
	}
}

// named names the processes that used the CPUs.
func named(all []machines.User, cpus int, withheld float64) string {
	var parts []string
	for _, u := range all[:min(censusNames, len(all))] {
		if u.CPUs >= littleCPU {
			parts = append(parts, fmt.Sprintf("%s used %.2f", u.Name, u.CPUs))
		}
	}
	text := ""
	if len(parts) > 0 {
		text = fmt.Sprintf("%s of %d CPUs", strings.Join(parts, ", "), cpus)
	}
	if withheld > muchWithheld {
		if text != "" {
			text += ", and "
		}
		text += "the hypervisor withheld " + measure.Percent(withheld) + " of the CPU time wanted"
	}
	return text
}

// census looks at the processes of the generator's machine; nil in virtual time.
func (s *Search) census(ctx context.Context) *machines.Census {
	return machines.TakeCensus(ctx, s.Host.Machine)
}
