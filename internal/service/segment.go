package service

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// memoryFile names, in the folder of an instance, the folder in memory that it has.
const memoryFile = "memory-folder"

// memoryFolders are those that MemoryFolder names. Nothing else is removed.
var memoryFolders = regexp.MustCompile(`^/dev/shm/plimsoll-[A-Z2-7]{26}$`)

// MemoryFolder is a name that nobody can guess, of a folder in memory for what a server
// shares among its processes. Note is a file for Daemon.Files: with it in the folder of the
// instance, the other one is removed with that, however the server ended.
func MemoryFolder() (folder string, note iter.Seq2[string, []byte]) {
	folder = "/dev/shm/plimsoll-" + rand.Text()
	return folder, Files(memoryFile, []byte(folder))
}

// ReleaseSegments removes the shared memory that PostgreSQL servers left which were killed:
// those of the folder and of the folders of instances in it. One removes its segment
// by itself, with the file that names it, when it is asked to stop, but not its folder in
// memory.
func ReleaseSegments(ctx context.Context, m platform.Machine, dir string) error {
	folders := []string{dir}
	for i := 0; ; i++ {
		one := path.Join(dir, strconv.Itoa(i))
		if _, err := m.ReadFile(ctx, path.Join(one, markFile)); err != nil {
			break
		}
		folders = append(folders, one)
	}
	for _, folder := range folders {
		if named, err := m.ReadFile(ctx, path.Join(folder, memoryFile)); err == nil && memoryFolders.Match(named) {
			if _, err := output(ctx, m, "rm", "-rf", "--", string(named)); err != nil {
				return fmt.Errorf("remove shared memory of a server: %w", err)
			}
		}
		note, err := m.ReadFile(ctx, path.Join(folder, "data", "postmaster.pid"))
		if err != nil {
			continue // nothing was left
		}
		if err := releaseSegment(ctx, m, string(note)); err != nil {
			return err
		}
	}
	return nil
}

// releaseSegment removes the segment of a note: its first line is the process that made
// it, with a minus where that was no server yet but made its databases, the seventh its key and its number (src/include/utils/pidfile.h). Processes of a
// server that was killed end when they notice, and have it until then.
func releaseSegment(ctx context.Context, m platform.Machine, note string) error {
	const often, pause = 20, 100 * time.Millisecond
	lines := strings.Split(note, "\n")
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
			if _, err := output(ctx, m, "ipcrm", "-m", named[1]); err != nil {
				return fmt.Errorf("remove shared memory segment %s of a server that was killed: %w", named[1], err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("remove shared memory segment %s of a server that was killed: %w", named[1], context.Cause(ctx))
		case <-time.After(pause):
		}
	}
	return nil // it is still in use
}

// segmentUsers is how many processes have a segment with a key, a number and a maker.
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
