package collect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/cgroup"
	"plimsoll/internal/platform"
)

// Cgroup counts what limits of control groups do to the workers and to the service.
func Cgroup() Source {
	return Source{
		Name: "cgroup",
		Doc:  "limits of the control groups of workers and service, and of their ancestors",
		Counters: []Counter{
			cumulative("cgroup.throttled", "1", "throttled time of the workers, summed over CPUs, as a share of the time"),
			cumulative("cgroup.throttled.periods", "1/s", "quota periods with throttling of the workers"),
			cumulative("cgroup.service.throttled", "1", "throttled time of the service, summed over CPUs, as a share of the time"),
			cumulative("cgroup.service.throttled.periods", "1/s", "quota periods with throttling of the service"),
			cumulative("cgroup.service.limit_hits", "1/s", "allocations of the service that met a memory limit"),
		},
		Needs: []string{"groups"},
		Host:  openCgroup,
	}
}

func openCgroup(ctx context.Context, p Env) (Flatten, error) {
	m := p.Machine
	if p.Membership == "" {
		return nil, fmt.Errorf("%s does not show the control group of a worker: %w", m.Name(), errors.ErrUnsupported)
	}
	mountinfo, err := read(ctx, m, "/proc/self/mountinfo", "list of mounts")
	if err != nil {
		return nil, err
	}
	g, err := platform.FindControlGroup(mountinfo, []byte(p.Membership), "cpu")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	}
	worker := strings.TrimPrefix(g.Folder, g.Mount)
	return func(i *hoststat.Interval, values map[string]float64) {
		throttled, periods, _ := limits(i, worker)
		values["cgroup.throttled"], values["cgroup.throttled.periods"] = throttled, periods
		for n := range i.Processes {
			if of := &i.Processes[n]; of.Detailed && of.Group != "" && of.Group != worker && of.Part(p.Served) == hoststat.Service {
				throttled, periods, hits := limits(i, of.Group)
				values["cgroup.service.throttled"], values["cgroup.service.throttled.periods"], values["cgroup.service.limit_hits"] = throttled, periods, hits
				break
			}
		}
	}, nil
}

// limits sums over a control group and its ancestors: a quota of an ancestor throttles the group
// too, and is counted only there.
func limits(i *hoststat.Interval, group string) (throttled, periods, hits float64) {
	for at := group; ; at = path.Dir(at) {
		if n := slices.IndexFunc(i.Groups, func(g cgroup.Group) bool { return g.Path == at }); n >= 0 {
			g := &i.Groups[n]
			throttled, periods, hits = throttled+g.Throttled, periods+g.ThrottledPeriods, hits+g.LimitHits
		}
		if at == "/" || at == "." || at == "" {
			return throttled, periods, hits
		}
	}
}
