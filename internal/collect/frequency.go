package collect

import (
	"bytes"
	"context"
	"fmt"

	"plimsoll/internal/platform"
)

// Frequency reports the clock rate of the CPUs.
func Frequency() Source {
	return Source{
		Name:     "frequency",
		Doc:      "CPU frequency, from cpufreq",
		Counters: []Counter{gauge("cpu.frequency", "1/s", "mean frequency of at most 16 CPUs spread evenly over the machine")},
		Open:     openFrequency,
	}
}

// mostFrequencies bounds the cost: reading a frequency can interrupt that CPU.
const mostFrequencies = 16

func openFrequency(ctx context.Context, p Env) (Read, error) {
	m := p.Machine
	text, err := read(ctx, m, "/sys/devices/system/cpu/online", "list of CPUs")
	if err != nil {
		return nil, err
	}
	cpus, err := platform.ParseCPUs(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: read the online CPUs: %w", m.Name(), err)
	}
	n := min(len(cpus), mostFrequencies)
	files := make([]string, n)
	for i := range files {
		files[i] = fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq", cpus[i*len(cpus)/n])
	}
	return tried(ctx, func(ctx context.Context) (map[string]float64, error) {
		total := 0.0
		for _, name := range files {
			text, err := read(ctx, m, name, "clock rates of CPUs")
			if err != nil {
				return nil, err
			}
			kilohertz, ok := number(bytes.TrimSpace(text))
			if !ok {
				return nil, fmt.Errorf("%s: %s holds %q", m.Name(), name, text)
			}
			total += kilohertz * 1000
		}
		return map[string]float64{"cpu.frequency": total / float64(n)}, nil
	})
}
