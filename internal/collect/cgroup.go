package collect

import (
	"context"
	"errors"
	"fmt"
	"path"

	"plimsoll/internal/platform"
)

// Cgroup counts how the control groups of workers were throttled by their
// quotas of CPU time. It finds the groups by a process that is started as a
// worker, so it is opened when the workers' confinement is in place.
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

func openCgroup(ctx context.Context, p Place) (Read, error) {
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
	// A quota above holds the group back as well, and counts only there. The
	// topmost group of a machine has no counts, because nothing holds it back.
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

// parseThrottling reads cpu.stat. Its time is in nanoseconds in version 1 of
// control groups and in microseconds in version 2.
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
