package cpu

import (
	"plimsoll/internal/diagnosis"
)

const (
	// An interrupt between CPUs takes about 1 us for sender and receiver together on hardware,
	// and about 5 us on vCPUs: two exits to the hypervisor (Amit et al., "ELI", ASPLOS 2012).
	interruptCost, virtualInterruptCost = 1e-6, 5e-6
	// leastLost is the share of the busy time that these interrupts must cost.
	leastLost = 0.05
)

// reschedulingStorm finds CPUs that wake one another so often that the interrupts cost a
// noticeable share of their time. Context switches without interrupts, such as of programs that
// share a CPU, and interrupts of timers look alike and do not count.
var reschedulingStorm = diagnosis.Rule{
	Name: "rescheduling_storm", Area: diagnosis.CPU,
	Doc:   "CPUs send one another many rescheduling interrupts",
	Needs: []string{"cpus", "irqs", "processes"},
	Lacks: func(e *diagnosis.Evidence) string {
		if _, known := interrupts(e, "RES"); !known && e.Online() > 1 {
			return "no counts of rescheduling interrupts"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		count, _ := interrupts(e, "RES")
		cost := interruptCost
		if e.Facts.Virtual {
			cost = virtualInterruptCost
		}
		busy := used(e.Mean)
		lost := count * cost / max(busy, 1e-9)
		if lost < leastLost || busy < 0.1*e.Online() {
			return nil
		}
		waker := mostSwitching(e)
		if waker == nil {
			return nil
		}
		voluntary, _ := waker.Switches()
		return []diagnosis.Finding{{
			Subject:    waker.Subject(),
			Says:       "The CPUs send one another {interrupts} rescheduling interrupts, about {lost} of the busy time; {subject} sleeps and wakes {switches}.",
			Confidence: diagnosis.Possible,
			Impact:     min(1, lost),
			Evidence:   []diagnosis.Fact{diagnosis.Rate("interrupts", count), diagnosis.Share("lost", min(1, lost)), diagnosis.Rate("switches", voluntary), diagnosis.Rate("all switches", e.Mean.Switches)},
			Change:     &diagnosis.Change{Says: "keep the threads of " + waker.Name + " that wake one another on CPUs that share a cache, or run fewer of them", Command: nearby(e, waker)},
		}}
	},
}

// interrupts is the rate of an interrupt by its name.
func interrupts(e *diagnosis.Evidence, name string) (rate float64, known bool) {
	for _, irq := range e.Mean.IRQs {
		if irq.Name == name {
			return sum(irq.PerCPU), true
		}
	}
	return 0, false
}

// mostSwitching is the program that sleeps and wakes most often.
func mostSwitching(e *diagnosis.Evidence) (most *diagnosis.Program) {
	highest := 0.
	for _, p := range e.Programs() {
		if voluntary, _ := p.Switches(); voluntary > highest && !p.Helper() {
			most, highest = p, voluntary
		}
	}
	return most
}
