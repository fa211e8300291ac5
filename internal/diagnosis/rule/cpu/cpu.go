// Package cpu holds the rules about CPU time: who gets it, where, and what interrupts cost.
package cpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

// All lists the rules.
func All() []diagnosis.Rule {
	return []diagnosis.Rule{
		cpuQuota, cpusetTooSmall, cpuAffinity, cpuSteal, readyTime, softirqOnOneCPU, reschedulingStorm, interruptCoalescing,
		cacheTopology, smtContention, noisyNeighbour, shortLivedProcesses, slowClock, cpuSaturated,
	}
}

// busiest says which programs use the CPUs: "nginx (12) 2.1, postgres (34) 1.2".
func busiest(e *diagnosis.Evidence, most int) (names []string, facts []diagnosis.Fact) {
	for _, p := range e.Programs() {
		if len(names) == most || p.Busy < 0.05*e.Online() {
			break
		}
		id := fmt.Sprintf("used by program %d", len(names)+1)
		names = append(names, p.Subject()+" {"+id+"}")
		facts = append(facts, diagnosis.Number(id, p.Busy))
	}
	return names, facts
}

// cpuMask is a mask of CPUs as /proc/irq and sysfs take it: groups of 32 bits in hexadecimal.
func cpuMask(cpus []int) string {
	if len(cpus) == 0 {
		return "0"
	}
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, n := range cpus {
		words[n/32] |= 1 << (n % 32)
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[len(words)-1-i] = fmt.Sprintf("%08x", w)
	}
	text[0] = strconv.FormatUint(uint64(words[len(words)-1]), 16)
	return strings.Join(text, ",")
}

// cpuList is a list of CPUs such as 0-3,8.
func cpuList(cpus []int) string {
	var ranges []string
	for at := 0; at < len(cpus); {
		end := at
		for end+1 < len(cpus) && cpus[end+1] == cpus[end]+1 {
			end++
		}
		if end == at {
			ranges = append(ranges, strconv.Itoa(cpus[at]))
		} else {
			ranges = append(ranges, fmt.Sprintf("%d-%d", cpus[at], cpus[end]))
		}
		at = end + 1
	}
	return strings.Join(ranges, ",")
}

// onlineCPUs are the numbers of the CPUs online.
func onlineCPUs(e *diagnosis.Evidence) (cpus []int) {
	for n, c := range e.Facts.CPUs {
		if c.Online {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// sum adds up counts per CPU.
func sum(counts []float64) (total float64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// used is the CPU time of the host in CPUs, without steal.
func used(i *hoststat.Interval) (busy float64) {
	for _, c := range i.CPUs {
		busy += c.Busy()
	}
	return busy
}
