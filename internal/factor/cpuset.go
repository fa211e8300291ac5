package factor

import (
	"context"

	"plimsoll/internal/platform"
)

// CPUSet is the list of CPUs of the control group in which workers run. It is
// read back from the group that a worker finds itself in.
func CPUSet() Factor {
	return Factor{
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
			list, err := limit(ctx, p.Machine, g, "cpuset.cpus")
			return orFree(list), err
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
