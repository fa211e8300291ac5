package collect

import (
	"plimsoll/internal/hoststat"
)

// CPU counts CPU time by mode, in CPUs.
func CPU() Source {
	busy := func(name, doc string) Counter { return cumulative("cpu."+name, "1", "CPUs "+doc) }
	s := Source{
		Name: "cpu",
		Doc:  "CPU time, from /proc/stat",
		Counters: []Counter{
			busy("user", "in user mode, guests included"),
			busy("system", "in kernel mode"),
			busy("iowait", "idle with I/O outstanding"),
			busy("irq", "serving hardware interrupts"),
			busy("softirq", "serving soft interrupts"),
			busy("steal", "stolen by the hypervisor (steal)"),
			busy("guest", "running guests, also counted in user mode"),
			busy("idle", "idle"),
			gauge("cpu.count", "1", "CPUs online"),
			gauge("cpu.busiest", "1", "utilisation of the busiest CPU"),
		},
		Needs: []string{"cpus"},
		Host:  flat(flattenCPU),
	}
	s.Counters = append(s.Counters, spread("cpu.busy", "CPU time used")...)
	return s
}

// carrying is the share of a counter that the CPUs of a counter "cpus90" hold together.
const carrying = 0.9

func flattenCPU(i *hoststat.Interval, values map[string]float64) {
	var all hoststat.CPU
	var used []float64
	busiest := 0.
	for _, c := range i.CPUs {
		if c.Total() <= 0 {
			continue // offline
		}
		all.User += c.User + c.Nice
		all.System += c.System
		all.Idle += c.Idle
		all.IOWait += c.IOWait
		all.IRQ += c.IRQ
		all.SoftIRQ += c.SoftIRQ
		all.Steal += c.Steal
		all.Guest += c.Guest
		used = append(used, c.Busy())
		busiest = max(busiest, c.Busy()/c.Total())
	}
	if len(used) == 0 {
		return
	}
	values["cpu.user"], values["cpu.system"], values["cpu.idle"], values["cpu.iowait"] = all.User, all.System, all.Idle, all.IOWait
	values["cpu.irq"], values["cpu.softirq"], values["cpu.steal"], values["cpu.guest"] = all.IRQ, all.SoftIRQ, all.Steal, all.Guest
	values["cpu.count"] = float64(len(used))
	values["cpu.busiest"] = busiest
	flattenSpread("cpu.busy", used, values)
}
