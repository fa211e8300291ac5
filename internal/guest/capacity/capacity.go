// Package capacity keeps the VMs of a platform within the memory and disk of this host.
package capacity

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"plimsoll/internal/platform"
)

// overhead is QEMU's memory in addition to the guest's, in bytes.
const overhead = 64 << 20

// Claim is the maximum that a VM may use of this host, in bytes.
type Claim struct {
	Number       int
	Memory, Disk int64
	Image        string // the file of its disk
}

// Resident is the most memory that QEMU takes, in bytes.
func (c Claim) Resident() int64 { return c.Memory + overhead }

// Capacity admits VMs as long as this host has the memory and disk for all of them at their
// full size: a host out of memory kills a VM, and a VM whose disk cannot grow stalls.
type Capacity struct {
	folder string
	host   Host
	mu     sync.Mutex
	claims map[int]Claim
	pids   map[int]int // of running QEMU processes

	turns chan struct{} // one for each VM that boots
}

// New is for VMs with their files in a folder.
func New(folder string, h Host) *Capacity {
	return &Capacity{folder: folder, host: h, claims: map[int]Claim{}, pids: map[int]int{}, turns: make(chan struct{}, runtime.NumCPU())}
}

// Enter waits for a turn to boot, of as many as this host has CPUs: a VM that boots uses one, and more of them at a time only delay
// each other.
func (c *Capacity) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.turns <- struct{}{}:
		return func() { <-c.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Claim admits VMs, replacing their earlier claims. An error changes nothing.
func (c *Capacity) Claim(asked ...Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	claims := c.with(asked)
	if err := c.fits(claims); err != nil {
		return err
	}
	c.claims = claims
	return nil
}

// Fits is the error that Claim would return.
func (c *Capacity) Fits(asked ...Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fits(c.with(asked))
}

// with are the claims with others in place of earlier ones.
func (c *Capacity) with(asked []Claim) map[int]Claim {
	claims := maps.Clone(c.claims)
	for _, a := range asked {
		claims[a.Number] = a
	}
	return claims
}

func (c *Capacity) fits(claims map[int]Claim) error {
	var memory, disk, missing, growth int64
	for n, a := range claims {
		memory, disk = memory+a.Resident(), disk+a.Disk
		missing += max(0, a.Resident()-c.host.Resident(c.pids[n]))
		growth += max(0, a.Disk-c.host.Blocks(a.Image))
	}
	available, err := c.host.Memory()
	if err != nil {
		return fmt.Errorf("read the free memory of this host: %w", err)
	}
	if missing > available {
		return fmt.Errorf("memory: %s in total, including QEMU, %s more than this host has free: use fewer guests or less memory", gibibytes(memory), gibibytes(missing-available))
	}
	free, err := c.host.Disk(c.folder)
	if err != nil {
		return fmt.Errorf("read the free space in %s: %w", c.folder, err)
	}
	if growth > free {
		return fmt.Errorf("disk: %s in total, %[3]s more than %[2]s has free: use fewer guests or smaller disks, or set TMPDIR to a larger folder", gibibytes(disk), filepath.Dir(c.folder), gibibytes(growth-free))
	}
	return nil
}

// Started records the process of a VM.
func (c *Capacity) Started(number, pid int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pids[number] = pid
}

// Stopped records that a VM has no process.
func (c *Capacity) Stopped(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, number)
}

// Release drops the claim of a VM.
func (c *Capacity) Release(number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pids, number)
	delete(c.claims, number)
}

// First returns the lowest number of another running VM; 0 if there is none.
func (c *Capacity) First(but int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	lowest := 0
	for n := range c.pids {
		if n != but && (lowest == 0 || n < lowest) {
			lowest = n
		}
	}
	return lowest
}

func gibibytes(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// Host reports the resources of a host, in bytes.
type Host struct {
	Memory   func() (int64, error)              // available to programs
	Disk     func(folder string) (int64, error) // free for files in a folder
	Resident func(pid int) int64                // resident memory of a process
	Blocks   func(file string) int64            // allocated to a file
}

// ThisHost reports the resources of this host.
func ThisHost() Host {
	return Host{
		Memory: func() (int64, error) { return AvailableMemory(os.ReadFile) },
		Disk: func(folder string) (int64, error) {
			var s syscall.Statfs_t
			err := syscall.Statfs(folder, &s)
			return int64(s.Bavail) * s.Bsize, err
		},
		Resident: func(pid int) int64 {
			var size, pages int64
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
			if err != nil {
				return 0
			}
			if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
				return 0
			}
			return pages * int64(os.Getpagesize())
		},
		Blocks: func(file string) int64 {
			var s syscall.Stat_t
			if file == "" || syscall.Stat(file, &s) != nil {
				return 0
			}
			const sector = 512
			return s.Blocks * sector
		},
	}
}

// AvailableMemory is MemAvailable, or the free memory of this process's control groups if that
// is less.
func AvailableMemory(read func(string) ([]byte, error)) (int64, error) {
	text, err := read("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	available, ok := platform.Meminfo(text, "MemAvailable")
	if !ok {
		return 0, fmt.Errorf("/proc/meminfo has no MemAvailable")
	}
	text, err = read("/proc/self/cgroup")
	if err != nil {
		return available, nil // a kernel without control groups
	}
	for line := range strings.Lines(string(text)) {
		own, version2 := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for version2 {
			available = min(available, leftIn("/sys/fs/cgroup"+own, read))
			if own == "/" || own == "." {
				break
			}
			own = filepath.Dir(own)
		}
	}
	return available, nil
}

// leftIn is the free memory of a control group, including its inactive page cache.
func leftIn(folder string, read func(string) ([]byte, error)) int64 {
	number := func(name string) (int64, bool) {
		text, err := read(filepath.Join(folder, name))
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return n, err == nil // "max" is no limit
	}
	limit, limited := number("memory.max")
	current, known := number("memory.current")
	if !limited || !known {
		return math.MaxInt64
	}
	if text, err := read(filepath.Join(folder, "memory.stat")); err == nil {
		_, rest, _ := strings.Cut("\n"+string(text), "\ninactive_file ")
		line, _, _ := strings.Cut(rest, "\n")
		cache, _ := strconv.ParseInt(line, 10, 64) // 0 if absent
		current -= cache
	}
	return max(0, limit-current)
}
