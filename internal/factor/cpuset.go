package factor

import (
	"context"

	"plimsoll/internal/platform"
)

// CPUSet is the list of CPUs of the control group in which workers run. It is
// read back from the group that a worker finds itself in.
func CPUSet() Factor {
	return Factor{
		Root:    true,
		Name:    "host.cpuset",
		Doc:     "CPUs of the control group of workers",
		Example: []string{free, "0-1"},
		Offers: func(ctx context.Context, p Place) ([]string, error) {
			cpus, err := online(ctx, p.Machine)
			if err != nil {
				return nil, err
			}
			return nil, confinable(ctx, p.Machine, platform.Confinement{CPUSet: cpus.String()})
		},
		Check: func(ctx context.Context, p Place, level string) (string, error) {
			list, err := cpuLevel(level)
			if err != nil || p.Machine == nil {
				return orFree(list), err
			}
			return orFree(list), confinable(ctx, p.Machine, platform.Confinement{CPUSet: list})
		},
		Get: func(ctx context.Context, p Place) (string, error) {
			if _, err := confiner(p.Machine); err != nil {
				return "", err
			}
			g, own, err := groupOfWorkers(ctx, p.Machine, "cpuset")
			if err != nil || !own {
				return free, err
			}
			return cpuSetOf(ctx, p.Machine, g)
		},
		Set: func(ctx context.Context, p Place, level string) error {
			list, err := cpuLevel(level)
			if err != nil {
				return err
			}
			return confine(ctx, p.Machine, func(c *platform.Confinement) { c.CPUSet = list })
		},
	}
}

// cpuSetOf is the list in effect, which can be shorter than the list asked for. A
// group of version 2 without a list of its own reports that of the one above.
func cpuSetOf(ctx context.Context, m platform.Machine, g platform.ControlGroup) (string, error) {
	asked, err := limit(ctx, m, g, "cpuset.cpus")
	if err != nil || asked == "" {
		return free, err
	}
	effective := "cpuset.cpus.effective"
	if g.Version == 1 {
		effective = "cpuset.effective_cpus"
	}
	list, err := limit(ctx, m, g, effective)
	if list == "" {
		list = asked
	}
	return list, err
}
