package factor

import (
	"context"

	"plimsoll/internal/platform"
)

// free is the level at which workers may run on every CPU.
const free = "free"

// Affinity is the list of CPUs that workers may run on, set on each process. It
// is read back from a process that is started as a worker.
func Affinity() Factor {
	return Factor{
		Name:    "host.affinity",
		Doc:     "CPU affinity of workers, set on each process",
		Example: []string{free, "0-1"},
		Offers: func(ctx context.Context, p Place) ([]string, error) {
			return nil, confinable(ctx, p.Machine, platform.Confinement{})
		},
		Check: func(ctx context.Context, p Place, level string) (string, error) {
			list, err := cpuLevel(level)
			if err != nil || p.Machine == nil {
				return orFree(list), err
			}
			return orFree(list), confinable(ctx, p.Machine, platform.Confinement{Affinity: list})
		},
		Get: getAffinity,
		Set: func(ctx context.Context, p Place, level string) error {
			list, err := cpuLevel(level)
			if err != nil {
				return err
			}
			return confine(ctx, p.Machine, func(c *platform.Confinement) { c.Affinity = list })
		},
	}
}

// getAffinity takes workers for free where they may run on the same CPUs as
// any other command, or on all CPUs of their control group.
func getAffinity(ctx context.Context, p Place) (string, error) {
	c, err := confiner(p.Machine)
	if err != nil {
		return "", err
	}
	worker, err := send(ctx, p.Machine, true)
	if err != nil {
		return "", err
	}
	now := c.Confinement()
	if now.Affinity != "" {
		return worker.cpus, nil
	}
	all := now.CPUSet
	if all == "" || all == platform.Unlimited {
		other, err := send(ctx, p.Machine, false)
		if err != nil {
			return "", err
		}
		all = other.cpus
	}
	if all == worker.cpus {
		return free, nil
	}
	return worker.cpus, nil
}

// cpuLevel reads a level: the canonical list, empty for free.
func cpuLevel(level string) (string, error) {
	if level == free {
		return "", nil
	}
	cpus, err := platform.ParseCPUs(level)
	return cpus.String(), err
}

func orFree(list string) string {
	if list == "" {
		return free
	}
	return list
}
