package collect

import (
	"context"
	"errors"
	"fmt"
	"path"

	"plimsoll/internal/platform"
)

// Cgroup counts the throttling of the workers' control groups by CPU quotas. It finds the
// groups by a process started as a worker, so it must be opened after the workers' confinement
// is set.
func Cgroup() Source {
	return Source{
		Name: "cgroup",
		Doc:  "CPU throttling of the workers' control group and its ancestors, from cpu.stat",
		Counters: []Counter{
			cumulative("cgroup.throttled", "1", "throttled time, summed over CPUs, as a share of the time"),
			cumulative("cgroup.throttled.periods", "1/s", "quota periods with throttling"),
		},
		Open: openCgroup,
	}
}

func openCgroup(ctx context.Context, p Env) (Read, error) {
	m := p.Machine
	r, err := m.Run(ctx, platform.Command{Argv: []string{"cat", "/proc/self/cgroup"}, Worker: true})
	if err != nil {
		return nil, fmt.Errorf("%s: read the control group of a worker: %w", m.Name(), err)
	}
	mountinfo, err := read(ctx, m, "/proc/self/mountinfo", "list of mounts")
	if err != nil {
		return nil, err
	}
	g, err := platform.FindControlGroup(mountinfo, r.Stdout, "cpu")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name(), err)
	}
	// A quota of an ancestor throttles the group too, and is counted only there. The root
	// group has no counts.
	var files []string
	for at := g.Folder; ; at = path.Dir(at) {
		name := at + "/cpu.stat"
		if text, err := m.ReadFile(ctx, name); err == nil {
			if _, _, ok := parseThrottling(text); ok {
				files = append(files, name)
			}
		}
		if at == g.Mount || len(at) <= len(g.Mount) {
			break
		}
	}
	if len(files) == 0 && g.Folder != g.Mount {
		return nil, fmt.Errorf("%s does not report throttling in %s: %w", m.Name(), g.Folder, errors.ErrUnsupported)
	}
	return func(ctx context.Context) (map[string]float64, error) {
		var time, periods float64
		for _, name := range files {
			text, err := read(ctx, m, name, "throttling counts")
			if err != nil {
				return nil, err
			}
			t, n, _ := parseThrottling(text)
			time, periods = time+t, periods+n
		}
		return map[string]float64{"cgroup.throttled": time, "cgroup.throttled.periods": periods}, nil
	}, nil
}

// parseThrottling parses cpu.stat. Times are in nanoseconds in cgroup v1 and in microseconds
// in v2.
func parseThrottling(text []byte) (seconds, periods float64, ok bool) {
	rest, _ := after(text, "nr_throttled ")
	periods, ok = number(rest)
	if !ok {
		return 0, 0, false
	}
	if rest, found := after(text, "throttled_usec "); found {
		n, ok := number(rest)
		return n * 1e-6, periods, ok
	}
	rest, _ = after(text, "throttled_time ")
	n, ok := number(rest)
	return n * 1e-9, periods, ok
}
