package coresched

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

// State is what a process has, as the kernel says.
type State struct {
	Cookies []uint64 // different ones of its threads; 0 for threads without one
	CPUs    []string // different lists of CPUs that its threads may use
	Sharers []int    // other processes with one of its cookies, of those that this one may trace
}

// String describes the state: "cookie 5f3c; CPUs 0-3".
func (s State) String() string {
	var cookies []string
	for _, c := range s.Cookies {
		text := "no cookie"
		if c != 0 {
			text = fmt.Sprintf("cookie %x", c)
		}
		cookies = append(cookies, text)
	}
	return fmt.Sprintf("%s; CPUs %s", strings.Join(cookies, ", "), strings.Join(s.CPUs, " and "))
}

// Read reads back what the threads of a process have.
func Read(pid int) (s State, err error) {
	all, err := threads(pid)
	if err != nil {
		return s, fmt.Errorf("read the cookies of process %d: %w", pid, err)
	}
	for _, t := range all {
		err := s.add(t)
		if err != nil && !errors.Is(err, unix.ESRCH) { // threads come and go
			return s, fmt.Errorf("read the cookie and CPUs of thread %d of process %d: %w", t, pid, err)
		}
	}
	slices.Sort(s.Cookies)
	if len(s.Cookies) == 0 {
		return s, fmt.Errorf("read the cookies of process %d: it has ended", pid)
	}
	if s.Cookies[len(s.Cookies)-1] != 0 {
		s.Sharers, err = sharers(pid, s.Cookies)
	}
	return s, err
}

func (s *State) add(thread int) error {
	c, err := cookie(thread)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENODEV) { // where a kernel has none, no thread has one
		return err
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(thread, &set); err != nil {
		return err
	}
	var cpus []int
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	if !slices.Contains(s.Cookies, c) {
		s.Cookies = append(s.Cookies, c)
	}
	if list := platform.CPUsOf(cpus).String(); !slices.Contains(s.CPUs, list) {
		s.CPUs = append(s.CPUs, list)
	}
	return nil
}

// sharers finds other processes with such cookies.
func sharers(pid int, cookies []uint64) (others []int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("find processes with the cookie of process %d: %w", pid, err)
	}
	for _, e := range entries {
		other, err := strconv.Atoi(e.Name())
		if err != nil || other == pid {
			continue
		}
		if c, err := cookie(other); err == nil && c != 0 && slices.Contains(cookies, c) {
			others = append(others, other)
		}
	}
	return others, nil
}

// Policy is the one that a process has on a host.
func (s State) Policy(h Host) (Policy, error) {
	switch {
	case len(s.Cookies) > 1:
		return "", fmt.Errorf("its threads have %d cookies, and so do not all share cores", len(s.Cookies))
	case len(s.Sharers) > 0:
		return "", fmt.Errorf("process %d has the same cookie, and so may share cores with it", s.Sharers[0])
	case len(s.Cookies) == 1 && s.Cookies[0] != 0:
		return OneGuest, nil
	case h.smt() && len(s.CPUs) == 1 && s.CPUs[0] == h.FirstThreads().String():
		return OneThread, nil
	}
	return Default, nil
}
