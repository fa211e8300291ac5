// Package memory holds the rules of diagnosis about memory, one file each.
package memory

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// All lists the rules.
func All() []diagnosis.Rule {
	return []diagnosis.Rule{remoteNUMA, outOfMemory, memoryLimit, ballooning, swapping, memoryReclaim, garbageCollection, pageCacheAsDisk, hugePages}
}

// leastStall is the share of time waiting for memory from which it is a finding: a change that
// removes it gains about as much, and less than 2 % is within the noise of most services.
const leastStall = 0.02

// stalled is the share of time in which a task waited for memory; ok is false without PSI.
func stalled(i *hoststat.Interval) (share float64, ok bool) {
	p, ok := i.Pressure["memory"]
	return min(1, p.Some), ok
}

// largest are the two programs with the most resident memory: "java (12) 3.1 GiB, ...".
func largest(e *diagnosis.Evidence) (names string, first *diagnosis.Program) {
	programs := diagnosis.By(e.Services(), resident)
	var list []string
	for _, p := range programs[:min(2, len(programs))] {
		list = append(list, fmt.Sprintf("%s with %s", p.Subject(), gib(resident(p))))
	}
	if len(programs) == 0 {
		return "", nil
	}
	return strings.Join(list, " and "), programs[0]
}

// resident is the resident memory of a program.
func resident(p *diagnosis.Program) float64 {
	sum := 0.
	for _, one := range p.Processes {
		sum += max(one.RSS, one.Anon)
	}
	return sum
}

// gib is a size in GiB or MiB.
func gib(bytes float64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.0f MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", bytes/(1<<30))
}

// faultTime is what a page from disk or swap takes at least, of flash, in seconds.
const faultTime = 1e-4

// victim is the member with the most of something that it waits for.
func victim(e *diagnosis.Evidence, members func(*diagnosis.Program) bool, waiting func(*diagnosis.Program) float64) *diagnosis.Program {
	programs := slices.DeleteFunc(e.Services(), func(p *diagnosis.Program) bool { return !members(p) || !e.Asked(p.Processes[0]) })
	programs = diagnosis.By(programs, waiting)
	if len(programs) == 0 {
		return nil
	}
	return programs[0]
}

// faults is the rate of pages that a program fetches from disk or swap.
func faults(p *diagnosis.Program) float64 {
	io := p.IO()
	return io.MajorFaults
}

// fetching is how many threads of a program wait for pages or for reads.
func fetching(p *diagnosis.Program) float64 {
	io := p.IO()
	return io.Blocked + io.MajorFaults*faultTime
}

func anyProgram(*diagnosis.Program) bool { return true }

// gain is what a stall costs as a growth of throughput once it is gone: between half of it and
// all of it.
func gain(stall float64, basis string) *diagnosis.Prediction {
	all := stall / (1 - min(0.95, stall))
	return &diagnosis.Prediction{Low: all / 2, High: all, Of: "throughput", Basis: basis}
}

// pageSize is that of base pages. Counters of a host are in its own, which is ours in all but
// recordings.
func pageSize() float64 { return float64(os.Getpagesize()) }

// roundUp rounds a size up to a multiple of 64 MiB.
func roundUp(bytes float64) float64 {
	const step = 64 << 20
	return math.Ceil(bytes/step) * step
}
