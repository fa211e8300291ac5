package factor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

const governorWords = "frequency governor"

// Governor is the frequency governor of all CPUs. If CPUs differ, Get returns each group:
// "0-3=performance 4-7=powersave".
func Governor() Factor {
	return Factor{
		Root:    true,
		Name:    "host.governor",
		Doc:     "CPU frequency governor of all CPUs",
		Example: []string{"powersave", "performance"}, Holds: []Hold{{Counter: "cpu.frequency", Pinned: "performance"}},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			cpus, err := online(ctx, p.Machine)
			if err != nil {
				return nil, err
			}
			text, err := read(ctx, p.Machine, cpufreq(cpus[0], "scaling_available_governors"), governorWords)
			return strings.Fields(text), err
		},
		Get: func(ctx context.Context, p Env) (string, error) {
			cpus, err := online(ctx, p.Machine)
			if err != nil {
				return "", err
			}
			groups := map[string]platform.CPUs{}
			var order []string
			for _, cpu := range cpus {
				g, err := read(ctx, p.Machine, cpufreq(cpu, "scaling_governor"), governorWords)
				if err != nil {
					return "", err
				}
				if groups[g] == nil {
					order = append(order, g)
				}
				groups[g] = append(groups[g], cpu)
			}
			if len(order) == 1 {
				return order[0], nil
			}
			for i, g := range order {
				order[i] = groups[g].String() + "=" + g
			}
			return strings.Join(order, " "), nil
		},
		Set: func(ctx context.Context, p Env, level string) error {
			all, err := online(ctx, p.Machine)
			if err != nil {
				return err
			}
			for part := range strings.FieldsSeq(level) {
				cpus, governor, err := governorPart(part, all)
				if err != nil {
					return err
				}
				for _, cpu := range cpus {
					if err := write(ctx, p.Machine, cpufreq(cpu, "scaling_governor"), governorWords, governor); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Effect: governorEffect,
	}
}

// governorEffect is the effect on all CPUs: a governor has settings of its own, and may change
// frequency limits and the energy preference of a policy.
func governorEffect(ctx context.Context, p Env) (Effect, error) {
	all, err := online(ctx, p.Machine)
	if err != nil {
		return Effect{}, err
	}
	var e Effect
	for _, cpu := range all {
		e.Sets = append(e.Sets, cpufreq(cpu, "scaling_governor"))
		for _, file := range []string{"scaling_min_freq", "scaling_max_freq", "energy_performance_preference", "scaling_setspeed"} {
			e.Coupled = append(e.Coupled, cpufreq(cpu, file))
		}
	}
	const policies = "/sys/devices/system/cpu/cpufreq"
	folders, err := below(ctx, p.Machine, policies)
	if err != nil {
		return e, err
	}
	files, err := below(ctx, p.Machine, append(folders, policies)...)
	if err != nil {
		return e, err
	}
	tunables := slices.DeleteFunc(files, func(name string) bool {
		return !slices.Contains([]string{"ondemand", "conservative", "schedutil", "interactive"}, path.Base(name))
	})
	own, err := below(ctx, p.Machine, tunables...)
	if err != nil {
		return e, err
	}
	e.Coupled = append(e.Coupled, own...)
	return e, nil
}

// governorPart parses "performance", for all CPUs, or "0-3=performance". CPUs that went
// offline are left out.
func governorPart(part string, all platform.CPUs) (platform.CPUs, string, error) {
	list, governor, some := strings.Cut(part, "=")
	if !some {
		return all, part, nil
	}
	cpus, err := platform.ParseCPUs(list)
	if err != nil {
		return nil, "", err
	}
	cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return !slices.Contains(all, cpu) })
	return cpus, governor, nil
}

func online(ctx context.Context, m platform.Machine) (platform.CPUs, error) {
	text, err := read(ctx, m, "/sys/devices/system/cpu/online", "list of CPUs")
	if err != nil {
		return nil, err
	}
	cpus, err := platform.ParseCPUs(text)
	if err != nil {
		return nil, fmt.Errorf("%s: read the online CPUs: %w", m.Name(), errors.Join(err, errors.ErrUnsupported))
	}
	return cpus, nil
}

func cpufreq(cpu int, file string) string {
	return fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file)
}
