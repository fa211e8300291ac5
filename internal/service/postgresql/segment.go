package postgresql

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// releaseSegment removes the shared memory segment of a killed server. A server that shuts
// down removes it itself, with the file postmaster.pid. The first line of that file is the
// process that created it, negative for initdb, and the seventh is the key and id of the
// segment (src/include/utils/pidfile.h). Processes of a killed server exit when they notice,
// and are attached to it until then.
func releaseSegment(ctx context.Context, m platform.Machine, folder string) error {
	const often, pause = 20, 100 * time.Millisecond
	note, err := m.ReadFile(ctx, path.Join(folder, "data", "postmaster.pid"))
	if err != nil {
		return nil //nolint:nilerr // nothing was left
	}
	lines := strings.Split(string(note), "\n")
	if len(lines) < 7 {
		return nil
	}
	named := strings.Fields(lines[6])
	if len(named) != 2 {
		return nil
	}
	for range often {
		users, there := segmentUsers(ctx, m, [3]string{named[0], named[1], strings.TrimPrefix(strings.TrimSpace(lines[0]), "-")})
		switch {
		case !there:
			return nil
		case users == "0":
			return removeSegment(ctx, m, named[1])
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove shared memory segment %s of a server that was killed: %w", named[1], context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	return nil // still in use
}

func removeSegment(ctx context.Context, m platform.Machine, number string) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"ipcrm", "-m", number}})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("ipcrm: exit status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("remove shared memory segment %s of a server that was killed: %w", number, err)
	}
	return nil
}

// segmentUsers is the number of processes attached to a segment with a key, an id and a
// creator.
func segmentUsers(ctx context.Context, m platform.Machine, of [3]string) (users string, there bool) {
	table, err := m.ReadFile(ctx, "/proc/sysvipc/shm")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(table)) {
		// key shmid perms size cpid lpid nattch: proc_sysvipc(5)
		if f := strings.Fields(line); len(f) > 6 && [3]string{f[0], f[1], f[4]} == of {
			return f[6], true
		}
	}
	return "", false
}
