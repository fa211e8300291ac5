package collect

import (
	"bytes"
	"errors"
)

// CPU counts CPU time by mode, in CPUs.
func CPU() Source {
	busy := func(name, doc string) Counter { return cumulative("cpu."+name, "1", "CPUs "+doc) }
	return Source{
		Name: "cpu",
		Doc:  "CPU time, from /proc/stat",
		Counters: []Counter{
			busy("user", "in user mode, guests included"),
			busy("system", "in kernel mode"),
			busy("iowait", "idle with I/O outstanding"),
			busy("irq", "serving hardware interrupts"),
			busy("softirq", "serving soft interrupts"),
			busy("steal", "stolen by the hypervisor (steal)"),
			busy("idle", "idle"),
			gauge("cpu.count", "1", "CPUs online"),
		},
		Open: fromFile("/proc/stat", "CPU times", parseCPU),
	}
}

// tick is the unit of /proc/stat in seconds: USER_HZ is 100 on every architecture that
// plimsoll supports.
const tick = 0.01

func parseCPU(text []byte) (map[string]float64, error) {
	rest, found := after(text, "cpu ")
	times := numbers(rest, make([]float64, 0, 8))
	if !found || len(times) < 8 {
		return nil, errors.New("no line with CPU times")
	}
	count := 0
	for line := range bytes.Lines(text) {
		if len(line) < 4 || !bytes.HasPrefix(line, []byte("cpu")) {
			break // the CPUs come first
		}
		if line[3] != ' ' {
			count++
		}
	}
	return map[string]float64{
		"cpu.user":    (times[0] + times[1]) * tick, // and nice
		"cpu.system":  times[2] * tick,
		"cpu.idle":    times[3] * tick,
		"cpu.iowait":  times[4] * tick,
		"cpu.irq":     times[5] * tick,
		"cpu.softirq": times[6] * tick,
		"cpu.steal":   times[7] * tick,
		"cpu.count":   float64(count),
	}, nil
}
