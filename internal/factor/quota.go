package factor

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

// none is the level without a quota.
const none = "none"

// Quota is the CPU quota of the workers' control group, in CPUs. It is read back from the
// group of a worker process.
func Quota() Factor {
	return confined{
		part:  func(c *platform.Confinement) *string { return &c.Quota },
		parse: quotaLevel, unlimited: none, grouped: true, get: getQuota,
	}.factor(Factor{
		Root:    true,
		Name:    "host.quota",
		Doc:     "CPU quota of the workers' control group, in CPUs (cpu.max)",
		Example: []string{none, "1.5"},
		Holds:   []Hold{{Counter: "cgroup.throttled", Pinned: none}, {Counter: "cgroup.throttled.periods", Pinned: none}},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			return nil, confinable(ctx, p.Machine, platform.Confinement{Quota: "1"})
		},
	})
}

func getQuota(ctx context.Context, p Env, _ platform.Confiner) (string, error) {
	g, own, err := groupOfWorkers(ctx, p.Machine, "cpu")
	if err != nil || !own {
		return none, err
	}
	return quotaOf(ctx, p.Machine, g)
}

func quotaOf(ctx context.Context, m platform.Machine, g platform.ControlGroup) (string, error) {
	text, err := limit(ctx, m, g, "cpu.max")
	if err == nil && g.Version == 1 {
		var micros, period string
		if micros, err = limit(ctx, m, g, "cpu.cfs_quota_us"); err == nil {
			period, err = limit(ctx, m, g, "cpu.cfs_period_us")
		}
		text = micros + " " + period
	}
	if err != nil {
		return "", err
	}
	f := strings.Fields(text)
	if len(f) == 0 || f[0] == "max" || f[0] == "-1" {
		return none, nil
	}
	if len(f) == 2 {
		micros, err := strconv.ParseFloat(f[0], 64)
		period, err2 := strconv.ParseFloat(f[1], 64)
		if err == nil && err2 == nil && period > 0 {
			return cpuText(micros / period), nil
		}
	}
	return "", fmt.Errorf("%s: read control group: invalid quota %q", m.Name(), text)
}

// quotaLevel parses a level: the canonical number of CPUs, empty for none. The kernel counts
// thousandths of a CPU, and at least ten of them.
func quotaLevel(level string) (string, error) {
	if level == none {
		return "", nil
	}
	cpus, err := strconv.ParseFloat(level, 64)
	if err != nil || !(cpus >= 0.01 && cpus <= 8192) || cpuText(cpus) != cpuText(math.Round(cpus*1000)/1000) {
		return "", fmt.Errorf("level %q is neither %q nor a number of CPUs from 0.01 in steps of 0.001, like 1.5", level, none)
	}
	return cpuText(cpus), nil
}

func cpuText(cpus float64) string { return strconv.FormatFloat(cpus, 'f', -1, 64) }
