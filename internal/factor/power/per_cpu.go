package power

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
)

// perCPU is a setting with a file in the cpufreq folder of each CPU.
type perCPU struct {
	words, file string // name the setting in errors, and its file
	remedy      string // what gives the host the setting, where it lacks it
}

// offers reads the levels that the first CPU offers in a file, less those of except.
func (s perCPU) offers(file string, except ...string) func(context.Context, factor.Env) ([]string, error) {
	return func(ctx context.Context, p factor.Env) ([]string, error) {
		cpus, err := factor.Online(ctx, p.Machine)
		if err != nil {
			return nil, err
		}
		text, err := s.read(ctx, p, cpufreq(cpus[0], file))
		return slices.DeleteFunc(strings.Fields(text), func(level string) bool { return slices.Contains(except, level) }), err
	}
}

// read reads a file, and says what to do where it is absent.
func (s perCPU) read(ctx context.Context, p factor.Env, name string) (string, error) {
	text, err := factor.Read(ctx, p.Machine, name, s.words)
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("%w: %s", err, s.remedy)
	}
	return text, err
}

// get is the level of all CPUs or, where they differ, of each group: "0-3=performance 4-7=powersave".
func (s perCPU) get(ctx context.Context, p factor.Env) (string, error) {
	cpus, err := factor.Online(ctx, p.Machine)
	if err != nil {
		return "", err
	}
	levels := make([]string, len(cpus))
	for i, cpu := range cpus {
		if levels[i], err = s.read(ctx, p, cpufreq(cpu, s.file)); err != nil {
			return "", err
		}
	}
	return grouped(cpus, levels), nil
}

// set writes a level that get returns.
func (s perCPU) set(ctx context.Context, p factor.Env, level string) error {
	all, err := factor.Online(ctx, p.Machine)
	if err != nil {
		return err
	}
	for part := range strings.FieldsSeq(level) {
		cpus, level, err := groupPart(part, all)
		if err != nil {
			return err
		}
		for _, cpu := range cpus {
			if err := factor.Write(ctx, p.Machine, cpufreq(cpu, s.file), s.words, level); err != nil {
				return err
			}
		}
	}
	return nil
}

// grouped is the level of all CPUs, or each level after the CPUs that have it.
func grouped(cpus platform.CPUs, levels []string) string {
	groups := map[string]platform.CPUs{}
	var order []string
	for i, level := range levels {
		if groups[level] == nil {
			order = append(order, level)
		}
		groups[level] = append(groups[level], cpus[i])
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, level := range order {
		order[i] = groups[level].String() + "=" + level
	}
	return strings.Join(order, " ")
}

// groupPart parses "performance", for all CPUs, or "0-3=performance". CPUs that went
// offline are left out.
func groupPart(part string, all platform.CPUs) (platform.CPUs, string, error) {
	list, level, some := strings.Cut(part, "=")
	if !some {
		return all, part, nil
	}
	cpus, err := platform.ParseCPUs(list)
	if err != nil {
		return nil, "", err
	}
	cpus = slices.DeleteFunc(cpus, func(cpu int) bool { return !slices.Contains(all, cpu) })
	return cpus, level, nil
}

func cpufreq(cpu int, file string) string {
	return fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/%s", cpu, file)
}
