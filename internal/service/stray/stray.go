// Package stray finds and ends the processes that a daemon left, by their working directory.
package stray

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// dying is the time limit for killed processes to be gone: the kernel first ends their I/O.
const dying = 10 * time.Second

// End kills the processes left by a killed daemon, those whose working directory is its folder, and waits until they are gone. A
// platform finds most by their environment, which some overwrite by a process title.
func End(ctx context.Context, m platform.Machine, dir string) error {
	for began := time.Now(); ; {
		pids, err := In(ctx, m, dir)
		if err != nil {
			return fmt.Errorf("look for processes that a service left in %s: %w", dir, err)
		}
		if len(pids) == 0 {
			return nil
		}
		if time.Since(began) > dying {
			return fmt.Errorf("processes that a service left in %s do not end: %s", dir, strings.Join(pids, ", "))
		}
		if _, err := m.Run(ctx, platform.Command{Argv: append([]string{"kill", "-KILL"}, pids...)}); err != nil { // some may have ended
			return fmt.Errorf("end processes that a service left in %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// In are the ids of the processes that work in a folder or below.
func In(ctx context.Context, m platform.Machine, dir string) ([]string, error) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", "ls -l /proc/[0-9]*/cwd 2>/dev/null"}})
	return workIn(string(r.Stdout), dir), err
}

// workIn are the processes that work in a folder or below, of a long list of the links
// /proc/PID/cwd.
func workIn(listed, dir string) (pids []string) {
	for line := range strings.Lines(listed) {
		from, to, ok := strings.Cut(strings.TrimRight(line, "\n"), "/cwd -> ")
		to = strings.TrimSuffix(to, " (deleted)")
		at := strings.LastIndex(from, "/proc/")
		if ok && at >= 0 && (to == dir || strings.HasPrefix(to, dir+"/")) {
			pids = append(pids, from[at+len("/proc/"):])
		}
	}
	return pids
}
