// Package pmu counts cycles, instructions and cache misses of all CPUs by perf events
// (perf_event_open(2)).
package pmu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CPU is the events of a CPU: cumulative in a reading, per second between two.
type CPU struct {
	Cycles       float64 `json:"cycles"` // without idle ones
	Instructions float64 `json:"instructions"`
	Misses       float64 `json:"misses"` // of the last-level cache
}

// event is a kind and a number of perf events.
type event struct {
	kind   uint32
	config uint64
}

// hardware are the events of CPU, in the order of its fields.
var hardware = []event{
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
	{unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CACHE_MISSES},
}

// Counters are open events, a group per CPU.
type Counters struct {
	groups *groups
}

type groups struct {
	leaders, all []int // files
	events       int
}

// Open starts to count on some CPUs. Its error says why there is nothing to count: no PMU, or no
// right to use it.
func Open(cpus []int) (*Counters, error) {
	g, err := open(cpus, hardware)
	if err != nil {
		return nil, err
	}
	c := &Counters{g}
	runtime.AddCleanup(c, func(g *groups) { g.close() }, g)
	return c, nil
}

func open(cpus []int, events []event) (*groups, error) {
	g := &groups{events: len(events)}
	for _, cpu := range cpus {
		leader := -1
		for _, e := range events {
			attr := unix.PerfEventAttr{
				Type: e.kind, Config: e.config, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
				Read_format: unix.PERF_FORMAT_GROUP | unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
			}
			file, err := unix.PerfEventOpen(&attr, -1, cpu, leader, unix.PERF_FLAG_FD_CLOEXEC)
			if err != nil {
				g.close()
				return nil, fmt.Errorf("open perf events of CPU %d: %w", cpu, because(err))
			}
			if g.all = append(g.all, file); leader < 0 {
				leader = file
				g.leaders = append(g.leaders, file)
			}
		}
	}
	return g, nil
}

// because says in words why perf events cannot be opened.
func because(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("the CPUs have no counters (PMU), as in most VMs: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("it takes root, CAP_PERFMON or a lower kernel.perf_event_paranoid: %w", err)
	}
	return err
}

func (g *groups) close() {
	for _, file := range g.all {
		_ = unix.Close(file)
	}
	g.all, g.leaders = nil, nil
}

// Read is the events of each CPU since they were opened. Where the kernel shares the counters
// among users, they are scaled to the whole time.
func (c *Counters) Read() ([]CPU, error) {
	counts, err := c.groups.read()
	if err != nil {
		return nil, err
	}
	all := make([]CPU, len(counts))
	for n, v := range counts {
		all[n] = CPU{v[0], v[1], v[2]}
	}
	runtime.KeepAlive(c)
	return all, nil
}

// read is the counts of each group: number of events, time enabled, time running, counts.
func (g *groups) read() ([][]float64, error) {
	buffer := make([]byte, 8*(3+g.events))
	all := make([][]float64, len(g.leaders))
	for n, file := range g.leaders {
		size, err := unix.Read(file, buffer)
		if err == nil && size < len(buffer) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("read perf events: %w", err)
		}
		number := func(i int) float64 { return float64(binary.NativeEndian.Uint64(buffer[8*i:])) }
		scale := 1.
		if enabled, running := number(1), number(2); running > 0 {
			scale = enabled / running
		}
		for i := range g.events {
			all[n] = append(all[n], number(3+i)*scale)
		}
	}
	return all, nil
}

// Between is the events per second from one reading to another, some seconds later.
func Between(a, b []CPU, seconds float64) (rates []CPU) {
	rate := func(before, after float64) float64 { return max(0, after-before) / seconds }
	for n := range min(len(a), len(b)) {
		rates = append(rates, CPU{rate(a[n].Cycles, b[n].Cycles), rate(a[n].Instructions, b[n].Instructions), rate(a[n].Misses, b[n].Misses)})
	}
	return rates
}
