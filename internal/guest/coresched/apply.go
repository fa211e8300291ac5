package coresched

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

// Scopes of PR_SCHED_CORE (include/uapi/linux/prctl.h).
const (
	oneThread  = unix.PR_SCHED_CORE_SCOPE_THREAD
	allThreads = unix.PR_SCHED_CORE_SCOPE_THREAD_GROUP
)

// Apply gives a process a policy: its threads, and those that they start. The process has none yet, and this one may trace it.
func (p Policy) Apply(pid int) error {
	var err error
	switch p {
	case OneGuest:
		err = unix.Prctl(unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_CREATE, uintptr(pid), allThreads, 0)
		if why := missing(err); why != nil {
			err = why
		}
	case OneThread:
		var h Host
		if h, err = ThisHost(); err == nil {
			err = confine(pid, h.FirstThreads())
		}
	}
	if err != nil {
		return fmt.Errorf("core_scheduling %s of process %d: %w", p, pid, err)
	}
	return nil
}

// looks is how often in a row no thread must be new, and how long it waits between looks. A thread is seen when it has started,
// with the CPUs that the thread which starts it had at the begin.
const (
	looks   = 3
	between = 2 * time.Millisecond
)

// confine restricts all threads of a process to CPUs, until no thread is new.
func confine(pid int, cpus platform.CPUs) error {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	done := map[int]bool{}
	for quiet := 0; quiet < looks; {
		found, err := threads(pid)
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(found, func(t int) bool { return done[t] })
		if quiet++; len(found) > 0 {
			quiet = 0
		}
		for _, t := range found {
			if err := unix.SchedSetaffinity(t, &set); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("restrict thread %d to the CPUs %s: %w", t, cpus, err)
			}
			done[t] = true
		}
		time.Sleep(between)
	}
	return nil
}

// threads lists the threads of a process.
func threads(pid int) (all []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if t, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, t)
		}
	}
	return all, nil
}

// cookie is that of a thread; 0 if it has none.
func cookie(thread int) (c uint64, err error) {
	_, _, e := unix.Syscall6(unix.SYS_PRCTL, unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_GET, uintptr(thread), oneThread, uintptr(unsafe.Pointer(&c)), 0)
	if e != 0 {
		return 0, e
	}
	return c, nil
}
