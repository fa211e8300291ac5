package power

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"plimsoll/internal/factor"
)

// freePreference is the level of a CPU whose driver decides by itself; it reads back as another one.
const freePreference = "default"

// energyPreference is the energy preference of all CPUs (EPP): how much of their speed processors give up to save power,
// where they choose frequencies themselves. Get returns groups of CPUs as that of governor does.
func energyPreference() factor.Factor {
	of := perCPU{
		words: "energy preference", file: "energy_performance_preference",
		remedy: "only the drivers intel_pstate and amd_pstate have it, in active mode: boot the host with intel_pstate=active or amd_pstate=active, with HWP or CPPC on in the firmware; VMs have none",
	}
	return factor.Factor{
		Root:    true,
		Name:    "host.energy_preference",
		Doc:     "energy preference (EPP) of all CPUs: performance, balance_performance, balance_power or power",
		Example: []string{"balance_power", "performance"},
		Offers:  of.offers("energy_performance_available_preferences", freePreference),
		Check: func(ctx context.Context, p factor.Env, level string) (string, error) {
			return level, preferable(ctx, p, level)
		},
		Get: of.get,
		Set: func(ctx context.Context, p factor.Env, level string) error {
			err := of.set(ctx, p, level)
			if errors.Is(err, syscall.EBUSY) {
				err = fmt.Errorf("%w: governor performance accepts no other energy preference: set the governor powersave first", err)
			}
			return err
		},
		Effect: preferenceEffect,
	}
}

// preferable refuses levels that the kernel does not accept, because of the governor of a CPU.
func preferable(ctx context.Context, p factor.Env, level string) error {
	if p.Machine == nil || level == "performance" {
		return nil
	}
	cpus, err := factor.Online(ctx, p.Machine)
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		name := cpufreq(cpu, "scaling_governor")
		is, err := factor.Read(ctx, p.Machine, name, governorWords)
		if err == nil && is == "performance" {
			return fmt.Errorf("level %q: the governor of CPU %d on %s is performance, which accepts no other energy preference: echo powersave | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", level, cpu, p.Machine.Name())
		}
	}
	return nil
}

// preferenceEffect is the effect on all CPUs. On processors that have no preference of their own, the driver sets the energy bias for it.
func preferenceEffect(ctx context.Context, p factor.Env) (e factor.Effect, err error) {
	all, err := factor.Online(ctx, p.Machine)
	for _, cpu := range all {
		e.Sets = append(e.Sets, cpufreq(cpu, "energy_performance_preference"))
		e.Coupled = append(e.Coupled, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/power/energy_perf_bias", cpu))
	}
	return e, err
}
