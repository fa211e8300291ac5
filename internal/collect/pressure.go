package collect

import "plimsoll/internal/hoststat"

// Pressure reports pressure stall information (PSI).
func Pressure() Source {
	return Source{
		Name: "pressure",
		Doc:  "pressure stall information (PSI), from /proc/pressure",
		Counters: []Counter{
			cumulative("pressure.cpu.some", "1", "share of time in which some task waited for a CPU"),
			cumulative("pressure.io.some", "1", "share of time in which some task waited for I/O"),
			cumulative("pressure.io.full", "1", "share of time in which all non-idle tasks waited for I/O"),
			cumulative("pressure.memory.some", "1", "share of time in which some task waited for memory"),
			cumulative("pressure.memory.full", "1", "share of time in which all non-idle tasks waited for memory"),
			cumulative("pressure.irq.full", "1", "share of time in which interrupts kept all non-idle tasks waiting"),
		},
		Needs: []string{"pressure"},
		Host: flat(func(i *hoststat.Interval, values map[string]float64) {
			for resource, p := range i.Pressure {
				if resource != "irq" {
					values["pressure."+resource+".some"] = p.Some
				}
				if resource != "cpu" {
					values["pressure."+resource+".full"] = p.Full
				}
			}
		}),
	}
}
