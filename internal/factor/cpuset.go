package factor

import (
	"context"
	"path"

	"plimsoll/internal/platform"
)

// CPUSet is the cpuset of the workers' control group. It is read back from the group of a
// worker process.
func CPUSet() Factor {
	return confined{
		part:  func(c *platform.Confinement) *string { return &c.CPUSet },
		parse: cpuLevel, unlimited: free, grouped: true, get: getCPUSet,
	}.factor(Factor{
		Root:    true,
		Name:    "host.cpuset",
		Doc:     "CPUs of the workers' control group (cpuset)",
		Example: []string{free, "0-1"},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			cpus, err := Online(ctx, p.Machine)
			if err != nil {
				return nil, err
			}
			return nil, confinable(ctx, p.Machine, platform.Confinement{CPUSet: cpus.String()})
		},
	})
}

func getCPUSet(ctx context.Context, p Env, c platform.Confiner) (string, error) {
	g, own, err := groupOfWorkers(ctx, p.Machine, "cpuset")
	if err != nil || !own {
		return free, err
	}
	list, err := cpuSetOf(ctx, p.Machine, g)
	if err == nil && list != free && c.Confinement().CPUSet == platform.Unlimited {
		return ofAbove(ctx, p.Machine, g, list)
	}
	return list, err
}

// cpuSetOf is the list in effect, which can be shorter than the configured one. A cgroup v2
// without a list of its own has that of its parent.
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

// ofAbove is free if a list equals the parent's, as it must in cgroup v1.
func ofAbove(ctx context.Context, m platform.Machine, g platform.ControlGroup, list string) (string, error) {
	g.Folder = path.Dir(g.Folder)
	above, err := limit(ctx, m, g, "cpuset.cpus")
	if above == list {
		return free, err
	}
	return list, err
}
