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
	muchSteal    = .1  // of the host's CPUs taken by the hypervisor
)

// explainVoid distinguishes lack of CPU from a generator at its own limit, and names the
// processes that used the CPU.
func (s *Search) explainVoid(p *measure.Probe, before, after *machines.Census) {
	busy := p.Values[measure.GeneratorCPU]
	waited, known := p.Values[measure.GeneratorWaited]
	who, others, stolen := "", 0., 0.
	if before != nil && after != nil && after.CPUs > 0 {
		var all []machines.User
		all, others = after.Users(before, machines.OwnNames()...)
		others /= float64(after.CPUs)
		stolen = (after.Steal - before.Steal) / max(1e-3, after.At.Sub(before.At).Seconds()) / float64(after.CPUs)
		who = named(all, after.CPUs, stolen)
	}
	if busy > busyWorker || !(known && waited > littleWaited || others > muchOthers || stolen > muchSteal) {
		return
	}
	p.Starved = true
	p.Reason = fmt.Sprintf("the host was busy: the generator used %s of its CPUs and waited for one %s of the time", measure.Percent(busy), measure.Percent(waited))
	if who != "" {
		p.Reason += "; meanwhile " + who
	}
}

// named names the processes that used the CPUs.
func named(all []machines.User, cpus int, stolen float64) string {
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
	if stolen > muchSteal {
		if text != "" {
			text += ", and "
		}
		text += "the hypervisor gave " + measure.Percent(stolen) + " of the CPU time to others"
	}
	return text
}

// census looks at the processes of the generator's machine; nil in virtual time.
func (s *Search) census(ctx context.Context) *machines.Census {
	return machines.TakeCensus(ctx, s.Host.Machine)
}
