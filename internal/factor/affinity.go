package factor

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/platform"
)

// free is the level without a restriction of CPUs.
const free = "free"

// Affinity is the CPU affinity of workers, set on each process. It is read back from a process
// started as a worker.
func Affinity() Factor {
	return confined{
		part:  func(c *platform.Confinement) *string { return &c.Affinity },
		parse: cpuLevel, unlimited: free, get: getAffinity,
	}.factor(Factor{
		Name:    "host.affinity",
		Doc:     "CPU affinity of workers, set on each process",
		Example: []string{free, "0-1"},
		// Workers on one CPU do not wander, and wake each other without interrupting another CPU.
		// A service is no worker. A cpuset may lack the CPU.
		Holds: []Hold{
			{Counter: "processes.generator.migrations", Free: free, PinnedOn: oneOfWorkers, Without: []string{"host.cpuset"}},
			{Counter: "interrupts.rescheduling", Free: free, PinnedOn: oneOfWorkers, Without: []string{"host.cpuset"}, Alone: true},
		},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			return nil, confinable(ctx, p.Machine, platform.Confinement{})
		},
	})
}

// oneOfWorkers is the last CPU that workers may use: most device interrupts go to the first.
func oneOfWorkers(ctx context.Context, p Env, level string) (string, error) {
	list := level
	if level == free {
		worker, err := send(ctx, p.Machine, true)
		if err != nil {
			return "", err
		}
		list = worker.cpus
	}
	cpus, err := platform.ParseCPUs(list)
	if err != nil {
		return "", fmt.Errorf("%s: CPUs of a worker: %w", p.Machine.Name(), err)
	}
	return strconv.Itoa(cpus[len(cpus)-1]), nil
}

// getAffinity returns free if workers have the same CPUs as any other command, or all CPUs of
// their control group.
func getAffinity(ctx context.Context, p Env, c platform.Confiner) (string, error) {
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
