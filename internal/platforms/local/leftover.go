package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

const groupPrefix = "plimsoll-"

// ownName names the control groups of this process: its PID namespace, its PID
// and when it started, so that nobody takes a later process of the same number,
// or one in a container, for the owner.
func ownName() (string, error) {
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("name of control groups: %w", err)
	}
	start, err := startTime(os.Getpid())
	if err != nil {
		return "", fmt.Errorf("name of control groups: %w", err)
	}
	return fmt.Sprintf("%s%s-%d-%s", groupPrefix, digits(space), os.Getpid(), start), nil
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// startTime is when a process started, in ticks since the machine did. The name
// of the program, in brackets before it, may hold anything.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat has %d fields after the name", pid, len(fields))
	}
	return fields[19], nil
}

// abandoned reports whether a control group was made by a plimsoll that is gone.
func abandoned(name, own string) bool {
	rest, found := strings.CutPrefix(name, groupPrefix)
	parts := strings.Split(rest, "-")
	if !found || len(parts) != 3 || name == own || !strings.HasPrefix(own, groupPrefix+parts[0]+"-") {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil {
		return false
	}
	start, err := startTime(pid)
	return errors.Is(err, fs.ErrNotExist) || err == nil && start != parts[2]
}

// sweep removes the control groups of dead runs. It skips those that it may not remove.
func sweep(ctx context.Context) error {
	own, err := ownName()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without PID namespaces, where we make no groups
	}
	if err != nil {
		return err
	}
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("find control groups: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for mount := range platform.Mounts(mountinfo) {
		if !confines(mount) {
			continue
		}
		err := filepath.WalkDir(mount.Point, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || !abandoned(d.Name(), own) {
				return nil // a group may be gone by now
			}
			if err := remove(ctx, name); err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
			return fs.SkipDir
		})
		if err != nil {
			return fmt.Errorf("left by a killed run: %w", err)
		}
	}
	return nil
}

// confines reports whether our groups can be in a hierarchy.
func confines(m platform.Mount) bool {
	if m.Type != "cgroup" {
		return m.Type == "cgroup2"
	}
	for option := range strings.SplitSeq(m.Options, ",") {
		if option == "cpu" || option == "cpuset" {
			return true
		}
	}
	return false
}
