package inspect

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

// Scheduling is the scheduling policy of vCPU threads on the host.
type Scheduling struct {
	Policy string // other, batch, idle or fifo
	// Level is the nice value for other and batch, -20 to 19, and the priority for fifo, 1 to
	// 99.
	Level int
}

var policies = map[string]uint32{"other": unix.SCHED_NORMAL, "batch": unix.SCHED_BATCH, "idle": unix.SCHED_IDLE, "fifo": unix.SCHED_FIFO}

// ParseScheduling parses other, batch, idle or fifo, with a nice value or priority after a
// colon, as in other:5 or fifo:10.
func ParseScheduling(text string) (s Scheduling, err error) {
	policy, level, given := strings.Cut(text, ":")
	wrong := fmt.Errorf("scheduler %q: must be other or batch, with a nice value as in other:5; idle; or fifo with a priority from 1 to 99, as in fifo:10", text)
	if s.Policy = policy; policy == "fifo" {
		s.Level = 1
	}
	if given {
		if s.Level, err = strconv.Atoi(level); err != nil {
			return s, wrong
		}
	}
	switch policy {
	case "other", "batch":
		if s.Level < -20 || s.Level > 19 {
			return s, wrong
		}
	case "idle":
		if given {
			return s, wrong
		}
	case "fifo":
		if s.Level < 1 || s.Level > 99 {
			return s, wrong
		}
	default:
		return s, wrong
	}
	return s, nil
}

// String is the shortest text of the same policy.
func (s Scheduling) String() string {
	if s.Level == 0 || s.Policy == "fifo" && s.Level == 1 {
		return s.Policy
	}
	return s.Policy + ":" + strconv.Itoa(s.Level)
}

// Schedule sets the scheduling policy of the vCPU threads.
func (p Process) Schedule(ctx context.Context, s Scheduling) error {
	threads, err := p.Threads(ctx)
	if err != nil {
		return err
	}
	attr := unix.SchedAttr{Policy: policies[s.Policy]}
	if s.Policy == "fifo" {
		attr.Priority = uint32(s.Level)
	} else {
		attr.Nice = int32(s.Level)
	}
	for i, t := range threads {
		if err := unix.SchedSetAttr(t, &attr, 0); err != nil {
			return fmt.Errorf("set scheduler of vCPU %d of guest %s to %s: %w: fifo, and nice values below plimsoll's own, require root or CAP_SYS_NICE", i, p.Name, s, err)
		}
	}
	return nil
}

// Scheduling reads the scheduling policy of the vCPU threads; it fails if they differ.
func (p Process) Scheduling(ctx context.Context) (s Scheduling, err error) {
	threads, err := p.Threads(ctx)
	if err != nil {
		return s, err
	}
	for i, t := range threads {
		attr, err := unix.SchedGetAttr(t, 0)
		if err != nil {
			return s, fmt.Errorf("scheduler of vCPU %d of guest %s: %w", i, p.Name, err)
		}
		one := Scheduling{Policy: fmt.Sprintf("policy %d", attr.Policy), Level: int(attr.Nice)}
		for name, number := range policies {
			if number == attr.Policy {
				one.Policy = name
			}
		}
		switch one.Policy {
		case "fifo":
			one.Level = int(attr.Priority)
		case "idle":
			one.Level = 0
		}
		if i > 0 && one != s {
			return s, fmt.Errorf("guest %s: the scheduling policy of vCPU 0 is %s, that of vCPU %d is %s", p.Name, s, i, one)
		}
		s = one
	}
	return s, nil
}

// Affinity reads the CPU affinity of each vCPU thread, and of QEMU's other threads.
func (p Process) Affinity(ctx context.Context) (vcpus []string, free string, err error) {
	threads, err := p.Threads(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, t := range append(threads, p.PID) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(t, &set); err != nil {
			return nil, "", fmt.Errorf("CPUs of the host for guest %s: %w", p.Name, err)
		}
		vcpus = append(vcpus, listOf(&set))
	}
	last := len(vcpus) - 1
	return vcpus[:last], vcpus[last], nil
}

// listOf is a set of CPUs in the kernel's notation, such as 0-3,8.
func listOf(set *unix.CPUSet) string {
	var cpus []int
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return platform.CPUsOf(cpus).String()
}
