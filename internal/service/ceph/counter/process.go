package counter

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

// Usage adds what a process used: CPU time, memory, and I/O of its block device, which it does directly.
func Usage(ctx context.Context, m platform.Machine, pid string, all map[string]float64) error {
	stat, err := m.ReadFile(ctx, "/proc/"+pid+"/stat")
	if err != nil {
		return fmt.Errorf("read the CPU time of an OSD: %w", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const user, system, pages, ticks = 11, 12, 21, 100 // fields counted from the state
	if len(fields) <= pages {
		return fmt.Errorf("read the CPU time of an OSD: /proc/%s/stat has %d fields", pid, len(fields))
	}
	number := func(text string) float64 {
		v, _ := strconv.ParseFloat(text, 64)
		return v
	}
	all[CPU] = (number(fields[user]) + number(fields[system])) / ticks
	all[Resident] = number(fields[pages]) * page(ctx, m)
	io, err := m.ReadFile(ctx, "/proc/"+pid+"/io")
	if err != nil {
		return nil //nolint:nilerr // a container may keep root from the I/O of another user's processes
	}
	for line := range strings.Lines(string(io)) {
		switch name, text, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "write_bytes":
			all[DeviceWrite] = number(text)
		case "read_bytes":
			all[DeviceRead] = number(text)
		}
	}
	if all[DeviceWrite] == 0 { // a file system in memory counts nothing
		delete(all, DeviceWrite)
		delete(all, DeviceRead)
	}
	return nil
}

// page is the size of a page of memory on the machine, in bytes.
func page(ctx context.Context, m platform.Machine) float64 {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"getconf", "PAGESIZE"}})
	if n, failed := strconv.ParseFloat(strings.TrimSpace(string(r.Stdout)), 64); err == nil && failed == nil {
		return n
	}
	return 4096
}
