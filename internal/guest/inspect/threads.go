// Package inspect reads the actual disks, processor model, pages, NUMA nodes, scheduling and
// CPU time of a VM from a running QEMU and from the host's kernel.
package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/qmp"
	"plimsoll/internal/guest/view"
)

// Process is a running QEMU.
type Process struct {
	Name    string // of the VM
	PID     int
	Monitor *qmp.Monitor
	Disks   []string // by number
	Memory  int64    // of the VM, in bytes
}

// Threads are the host's thread ids of the vCPUs, by vCPU. Under TCG with more vCPUs than host
// CPUs, one thread runs them all.
func (p Process) Threads(ctx context.Context) ([]int, error) {
	var cpus []struct {
		Index  int `json:"cpu-index"`
		Thread int `json:"thread-id"`
	}
	if err := p.Monitor.Execute(ctx, "query-cpus-fast", nil, &cpus); err != nil {
		return nil, fmt.Errorf("threads of guest %s: %w", p.Name, err)
	}
	threads := make([]int, len(cpus))
	for _, c := range cpus {
		if c.Index < 0 || c.Index >= len(threads) {
			return nil, fmt.Errorf("threads of guest %s: QEMU reports vCPU %d of %d", p.Name, c.Index, len(cpus))
		}
		threads[c.Index] = c.Thread
	}
	return threads, nil
}

// Pin restricts each vCPU to a list of CPUs of the host.
func (p Process) Pin(ctx context.Context, lists []string) error {
	if len(lists) == 0 {
		return nil
	}
	threads, err := p.Threads(ctx)
	if err != nil {
		return err
	}
	for i, list := range lists {
		cpus, err := view.List(list)
		if err != nil || i >= len(threads) {
			return errors.Join(fmt.Errorf("pin vCPU %d of %d", i, len(threads)), err)
		}
		var set, got unix.CPUSet
		for _, c := range cpus {
			set.Set(c)
		}
		if err := unix.SchedSetaffinity(threads[i], &set); err != nil {
			return fmt.Errorf("pin vCPU %d to the CPUs %s of the host: %w", i, list, err)
		}
		// The kernel ignores CPUs that do not exist or that a cpuset forbids.
		if err := unix.SchedGetaffinity(threads[i], &got); err != nil || got != set {
			return errors.Join(fmt.Errorf("pin vCPU %d to the CPUs %s of the host: the kernel accepted only some of them: use CPUs that are online and allowed here", i, list), err)
		}
	}
	return nil
}

// Usage is the CPU time of a guest's threads since their start.
type Usage struct {
	VCPUs  []Thread // by vCPU; one if a single thread runs them all
	Others []Thread
	Exits  *int64 // VM exits; nil where the kernel does not report them
}

// Thread is a thread of QEMU on the host.
type Thread struct {
	ID   int
	Name string // QEMU's name, such as "CPU 0/KVM" or "io0"
	Run  time.Duration
	Wait time.Duration // runnable, waiting for a CPU
}

// Usage reads the CPU time of the guest's threads. A study uses the difference of two
// readings.
func (p Process) Usage(ctx context.Context) (Usage, error) {
	vcpus, err := p.Threads(ctx)
	if err != nil {
		return Usage{}, err
	}
	vcpus = slices.Compact(vcpus)
	dir := fmt.Sprintf("/proc/%d/task", p.PID)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Usage{}, fmt.Errorf("usage of guest %s: %w", p.Name, err)
	}
	u := Usage{VCPUs: make([]Thread, len(vcpus))}
	for _, e := range entries {
		t, err := readThread(filepath.Join(dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // threads for I/O come and go
		}
		if err != nil {
			return Usage{}, fmt.Errorf("usage of guest %s: %w", p.Name, err)
		}
		if i := slices.Index(vcpus, t.ID); i >= 0 {
			u.VCPUs[i] = t
		} else {
			u.Others = append(u.Others, t)
		}
	}
	u.Exits = exits("/sys/kernel/debug/kvm", p.PID)
	return u, nil
}

// exits is KVM's per-guest counter in debugfs, in a folder named after the process and one of
// its file descriptors.
func exits(root string, pid int) *int64 {
	files, err := filepath.Glob(fmt.Sprintf("%s/%d-*/exits", root, pid))
	if err != nil || len(files) == 0 {
		return nil
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// readThread reads a folder /proc/PID/task/TID.
func readThread(dir string) (t Thread, err error) {
	if t.ID, err = strconv.Atoi(filepath.Base(dir)); err != nil {
		return t, err
	}
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return t, err
	}
	t.Name = strings.TrimSpace(string(name))
	sched, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err != nil {
		return t, err
	}
	return t, t.addSchedstat(string(sched))
}

// addSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds on a CPU, nanoseconds
// runnable, and the number of time slices.
func (t *Thread) addSchedstat(s string) error {
	var run, wait, slices int64
	if _, err := fmt.Sscanf(s, "%d %d %d", &run, &wait, &slices); err != nil {
		return fmt.Errorf("%.80q is not the schedstat of a thread: %w", s, err)
	}
	t.Run, t.Wait = time.Duration(run), time.Duration(wait)
	return nil
}
