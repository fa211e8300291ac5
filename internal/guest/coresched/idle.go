package coresched

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// accounting is the setting without which the kernel does not count forced idleness.
const accounting = "/proc/sys/kernel/sched_schedstats"

// Account has the kernel count forced idleness, which costs each switch of threads a little, until restore. It needs root.
func Account() (restore func() error, err error) {
	former, err := os.ReadFile(accounting)
	if err == nil {
		err = os.WriteFile(accounting, []byte("1\n"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("count forced idleness by kernel.sched_schedstats: %w", err)
	}
	return func() error {
		if err := os.WriteFile(accounting, former, 0); err != nil {
			return fmt.Errorf("restore kernel.sched_schedstats: %w", err)
		}
		return nil
	}, nil
}

// ForcedIdle is the CPU time that threads of cores had to be idle since the host booted, because nothing could run beside the other
// thread. Without Account it does not change.
func ForcedIdle() (time.Duration, error) {
	for _, name := range []string{"/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/unified/cpu.stat"} {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("read the forced idleness: %w", err)
		}
		return forcedIdle(name, string(text))
	}
	return 0, errors.New("read the forced idleness: control groups of version 2 are not mounted on /sys/fs/cgroup: mount -t cgroup2 none /sys/fs/cgroup")
}

// forcedIdle finds it in a file cpu.stat.
func forcedIdle(name, text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		number, found := strings.CutPrefix(strings.TrimSpace(line), "core_sched.force_idle_usec ")
		if !found {
			continue
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > int64(1<<62)/1000 {
			return 0, fmt.Errorf("read the forced idleness: %s: %.80q is not a number of microseconds", name, number)
		}
		return time.Duration(n) * time.Microsecond, nil
	}
	return 0, fmt.Errorf("read the forced idleness: %s has no core_sched.force_idle_usec: %w", name, errNoKernel)
}

// ForcedBy is the CPU time for which the other threads of cores had to be idle while threads of a process ran that still do. It is false
// where the kernel does not count it: see Account.
func ForcedBy(pid int) (total time.Duration, counted bool) {
	all, err := threads(pid)
	if err != nil {
		return 0, false
	}
	for _, t := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/sched", pid, t))
		if err != nil {
			continue // it has ended
		}
		if d, found := forcedOf(string(text)); found {
			total, counted = total+d, true
		}
	}
	return total, counted
}

// forcedOf finds the time of a thread in a file /proc/PID/task/TID/sched, where it is in milliseconds.
func forcedOf(text string) (time.Duration, bool) {
	for line := range strings.Lines(text) {
		name, number, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "core_forceidle_sum" {
			continue
		}
		d, err := time.ParseDuration(strings.TrimSpace(number) + "ms")
		return d, err == nil && d >= 0
	}
	return 0, false
}
