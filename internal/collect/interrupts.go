package collect

import (
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/stat"
)

// Interrupts counts interrupts, soft interrupts and context switches, and how evenly soft
// interrupts are spread over the CPUs.
func Interrupts() Source {
	s := Source{
		Name: "interrupts",
		Doc:  "interrupts and context switches, from /proc/stat, /proc/interrupts and /proc/softirqs",
		Counters: []Counter{
			cumulative("interrupts.total", "1/s", "interrupts, all types"),
			cumulative("interrupts.rescheduling", "1/s", "rescheduling interrupts (IPI)"),
			cumulative("interrupts.function_call", "1/s", "function call interrupts (IPI)"),
			cumulative("interrupts.tlb", "1/s", "TLB shootdowns (IPI)"),
			cumulative("context_switches", "1/s", "context switches"),
			cumulative("forks", "1/s", "processes and threads created"),
		},
		Needs: []string{"cpus", "softirqs"},
		Host:  flat(flattenInterrupts),
	}
	for _, kind := range softKinds {
		s.Counters = append(s.Counters, cumulative(softName(kind), "1/s", kind+" soft interrupts"))
	}
	for _, kind := range spreadKinds {
		s.Counters = append(s.Counters, spread(softName(kind), kind+" soft interrupts")...)
	}
	s.Counters = append(s.Counters, spread("softirq.all", "soft interrupts of all kinds")...)
	return s
}

// spread are the counters of how unevenly CPUs share something.
func spread(name, of string) []Counter {
	return []Counter{
		gauge(name+".busiest_share", "1", "share of "+of+" on the busiest CPU"),
		gauge(name+".gini", "1", "Gini coefficient of "+of+" over the CPUs; 0 is an even spread"),
		gauge(name+".cpus90", "1", "fewest CPUs with 90 % of "+of),
	}
}

func flattenSpread(name string, perCPU []float64, values map[string]float64) {
	if s, ok := stat.SpreadOf(perCPU, carrying); ok {
		values[name+".busiest_share"], values[name+".gini"], values[name+".cpus90"] = s.Busiest, s.Gini, float64(s.Carrying)
	}
}

// softKinds are the vectors of soft interrupts, spreadKinds those whose work a device brings.
var (
	softKinds   = []string{"BLOCK", "NET_RX", "NET_TX", "TIMER", "SCHED", "HRTIMER", "RCU", "TASKLET", "HI", "IRQ_POLL"}
	spreadKinds = []string{"BLOCK", "NET_RX"}
)

func softName(kind string) string { return "softirq." + strings.ToLower(kind) }

// ipis are the counters of interrupts between CPUs by the kernel's description of them:
// labels differ between architectures.
var ipis = []struct{ device, name string }{
	{"Rescheduling interrupts", "interrupts.rescheduling"}, {"Function call interrupts", "interrupts.function_call"}, {"TLB shootdowns", "interrupts.tlb"},
}

func flattenInterrupts(i *hoststat.Interval, values map[string]float64) {
	values["context_switches"], values["interrupts.total"], values["forks"] = i.Switches, i.Interrupts, i.Forks
	for n := range i.IRQs {
		for _, ipi := range ipis {
			if strings.Contains(i.IRQs[n].Device, ipi.device) {
				values[ipi.name] = sum(i.IRQs[n].PerCPU)
			}
		}
	}
	var all []float64
	for kind, counts := range i.SoftIRQs {
		for len(all) < len(counts) {
			all = append(all, 0)
		}
		for cpu, n := range counts {
			all[cpu] += n
		}
		if slices.Contains(softKinds, kind) {
			values[softName(kind)] = sum(counts)
		}
	}
	for _, kind := range spreadKinds {
		flattenSpread(softName(kind), i.SoftIRQs[kind], values)
	}
	flattenSpread("softirq.all", all, values)
}

func sum(counts []float64) float64 {
	total := 0.
	for _, n := range counts {
		total += n
	}
	return total
}
