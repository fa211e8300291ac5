// Package power holds the factors that make the power profile of a host: how fast its CPUs run, and how deep they sleep.
package power

import (
	"context"
	"path"
	"slices"

	"plimsoll/internal/factor"
)

// Factors lists them.
func Factors() []factor.Factor { return []factor.Factor{governor(), energyPreference(), idleLimit()} }

const governorWords = "frequency governor"

// governor is the frequency governor of all CPUs. If CPUs differ, Get returns each group:
// "0-3=performance 4-7=powersave".
func governor() factor.Factor {
	of := perCPU{words: governorWords, file: "scaling_governor", remedy: "a VM has none, so run the study on its host, booted with a frequency driver such as intel_pstate or amd_pstate"}
	return factor.Factor{
		Root:    true,
		Name:    "host.governor",
		Doc:     "CPU frequency governor of all CPUs",
		Example: []string{"powersave", "performance"}, Holds: []factor.Hold{{Counter: "cpu.frequency", Pinned: "performance"}},
		Offers: of.offers("scaling_available_governors"),
		Get:    of.get,
		Set:    of.set,
		Effect: governorEffect,
	}
}

// governorEffect is the effect on all CPUs: a governor has settings of its own, and may change
// frequency limits and the energy preference of a policy.
func governorEffect(ctx context.Context, p factor.Env) (factor.Effect, error) {
	all, err := factor.Online(ctx, p.Machine)
	if err != nil {
		return factor.Effect{}, err
	}
	var e factor.Effect
	for _, cpu := range all {
		e.Sets = append(e.Sets, cpufreq(cpu, "scaling_governor"))
		for _, file := range []string{"scaling_min_freq", "scaling_max_freq", "energy_performance_preference", "scaling_setspeed"} {
			e.Coupled = append(e.Coupled, cpufreq(cpu, file))
		}
	}
	const policies = "/sys/devices/system/cpu/cpufreq"
	folders, err := factor.Below(ctx, p.Machine, policies)
	if err != nil {
		return e, err
	}
	files, err := factor.Below(ctx, p.Machine, append(folders, policies)...)
	if err != nil {
		return e, err
	}
	tunables := slices.DeleteFunc(files, func(name string) bool {
		return !slices.Contains([]string{"ondemand", "conservative", "schedutil", "interactive"}, path.Base(name))
	})
	own, err := factor.Below(ctx, p.Machine, tunables...)
	if err != nil {
		return e, err
	}
	e.Coupled = append(e.Coupled, own...)
	return e, nil
}
