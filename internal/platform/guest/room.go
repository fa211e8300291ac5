package guest

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// overhead is what QEMU takes beside a guest's memory, in bytes.
const overhead = 64 << 20

// claim is what a guest may come to take of this host, in bytes.
type claim struct {
	number       int
	memory, disk int64
	image        string // the file of its disk
}

// room sees to it that all guests of a platform fit on this host, also once they have
// used all that they were given: a guest whose host runs out of memory is killed, and one
// whose disk cannot grow stands still.
type room struct {
	folder string
	host   host
	mu     sync.Mutex
	claims map[int]claim
	pids   map[int]int // of the QEMUs that run
}

func newRoom(folder string, h host) *room {
	return &room{folder: folder, host: h, claims: map[int]claim{}, pids: map[int]int{}}
}

// claim asks for room for guests, instead of what each had. An error changes nothing.
func (r *room) claim(asked ...claim) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	claims := maps.Clone(r.claims)
	for _, c := range asked {
		claims[c.number] = c
	}
	var memory, disk, missing, growth int64
	for n, c := range claims {
		memory, disk = memory+c.memory+overhead, disk+c.disk
		missing += max(0, c.memory+overhead-r.host.resident(r.pids[n]))
		growth += max(0, c.disk-r.host.blocks(c.image))
	}
	available, err := r.host.memory()
	if err != nil {
		return fmt.Errorf("ask for this host's memory: %w", err)
	}
	if missing > available {
		return fmt.Errorf("memory: %s in all, with QEMU's own, and this host has %s less to give: ask for fewer guests or less memory", gibibytes(memory), gibibytes(missing-available))
	}
	free, err := r.host.disk(r.folder)
	if err != nil {
		return fmt.Errorf("ask for the room in %s: %w", r.folder, err)
	}
	if growth > free {
		return fmt.Errorf("disk: %s in all, and %s has %s less to give: ask for fewer guests or smaller disks, or set TMPDIR to a larger folder", gibibytes(disk), filepath.Dir(r.folder), gibibytes(growth-free))
	}
	r.claims = claims
	return nil
}

func (r *room) started(number, pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pids[number] = pid
}

func (r *room) stopped(number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pids, number)
}

// leave gives up what a guest claimed.
func (r *room) leave(number int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pids, number)
	delete(r.claims, number)
}

// first is the lowest number of a guest that runs, other than one; 0 where there is none.
func (r *room) first(but int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	lowest := 0
	for n := range r.pids {
		if n != but && (lowest == 0 || n < lowest) {
			lowest = n
		}
	}
	return lowest
}

func gibibytes(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }

// host is how much of a host there is, in bytes.
type host struct {
	memory   func() (int64, error)              // that programs can still get
	disk     func(folder string) (int64, error) // that files there can still take
	resident func(pid int) int64                // memory that a process has
	blocks   func(file string) int64            // that a file takes on its disk
}

func thisHost() host {
	return host{
		memory: func() (int64, error) { return availableMemory(os.ReadFile) },
		disk: func(folder string) (int64, error) {
			var s syscall.Statfs_t
			err := syscall.Statfs(folder, &s)
			return int64(s.Bavail) * s.Bsize, err
		},
		resident: func(pid int) int64 {
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
		blocks: func(file string) int64 {
			var s syscall.Stat_t
			if file == "" || syscall.Stat(file, &s) != nil {
				return 0
			}
			const sector = 512
			return s.Blocks * sector
		},
	}
}

// availableMemory is what the kernel reckons that programs can get without swapping, and
// no more than what the control groups of this process have left.
func availableMemory(read func(string) ([]byte, error)) (int64, error) {
	text, err := read("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	available, ok := numberAfter(string(text), "MemAvailable:")
	if !ok {
		return 0, fmt.Errorf("/proc/meminfo has no MemAvailable")
	}
	available <<= 10
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

// leftIn is the memory that a control group may still take, without what its page cache
// can give back.
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
		cache, _ := numberAfter(string(text), "inactive_file")
		current -= cache
	}
	return max(0, limit-current)
}

// numberAfter finds the number on the line that begins with a word.
func numberAfter(text, word string) (int64, bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == word {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
