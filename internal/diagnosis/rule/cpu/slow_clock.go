package cpu

import (
	"slices"
	"strings"

	"plimsoll/internal/diagnosis"
)

const (
	clockSettings = "sys/devices/system/clocksource/clocksource0/"
	// slowRead is what a reading of the clock takes at least where it is a system call that asks a
	// device: some 30 ns where a program reads the counter of its CPU by itself.
	slowRead = 3e-7
	// leastKernel is the share of its CPU time that a program which reads the clock often spends in
	// the kernel, and leastUse the CPUs that it uses.
	leastKernel, leastUse = 0.2, 0.2
)

// quick are the clock sources that programs read without a system call (vDSO). Those of a hypervisor come
// first: they stay right when the VM moves.
var quick = []string{"kvm-clock", "hyperv_clocksource_tsc_page", "tsc", "arch_sys_counter"}

// slowClock finds hosts whose programs ask the kernel for the time, such as a VM that lost the TSC.
// A slow source where nobody works in the kernel looks alike, and costs nothing.
var slowClock = diagnosis.Rule{
	Name: "slow_clock", Area: diagnosis.CPU,
	Doc:   "reading the clock is a slow system call",
	Needs: []string{"cpus", "processes"},
	Lacks: func(e *diagnosis.Evidence) string {
		if e.Setting(clockSettings+"current_clocksource") == "" || e.Facts.ClockRead == 0 {
			return "no clock source, or no measurement of it"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		source := e.Setting(clockSettings + "current_clocksource")
		if slices.Contains(quick, source) || e.Facts.ClockRead < slowRead {
			return nil
		}
		for _, p := range e.Services() {
			kernel := min(0.99, p.SystemShare())
			if p.Busy < leastUse || kernel < leastKernel || !e.Asked(p.Processes[0]) {
				continue
			}
			return []diagnosis.Finding{{
				Subject:    p.Subject(),
				Confidence: diagnosis.Possible,
				Impact:     kernel,
				Says:       "Reading the clock takes {reading}, because it is a system call (clock source " + source + "). {subject} spends {kernel} of its CPU time in the kernel; the part of the clock was not measured.",
				Evidence:   []diagnosis.Fact{diagnosis.Seconds("reading", e.Facts.ClockRead), diagnosis.Share("kernel", kernel), diagnosis.Number("used by the program", p.Busy)},
				Change:     quickClock(e),
				Prediction: &diagnosis.Prediction{Low: 0, High: kernel / (1 - kernel), Of: "throughput of " + p.Name, Basis: "at most the time in the kernel"},
			}}
		}
		return nil
	},
}

// quickClock changes to the best source that the kernel offers.
func quickClock(e *diagnosis.Evidence) *diagnosis.Change {
	offered := strings.Fields(e.Setting(clockSettings + "available_clocksource"))
	for _, source := range quick {
		if slices.Contains(offered, source) {
			return &diagnosis.Change{Says: "let the kernel read the time from " + source, Command: "echo " + source + " > /" + clockSettings + "current_clocksource"}
		}
	}
	return &diagnosis.Change{
		Says:    "give this host a clock that programs read by themselves: a stable TSC, or the paravirtual clock of its hypervisor",
		Command: "dmesg | grep -i -e clocksource -e tsc",
	}
}
