package tuner

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/hoststat/tenants"
	"plimsoll/internal/tuner/dense"
)

// reading is what a host shows at one instant.
type reading struct {
	cpus        int
	busy, total float64 // CPU time since the start of the host, in clock ticks
	tenants     tenants.Count
}

// look reads this host.
func look() (reading, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return reading{}, fmt.Errorf("read the CPU time of this host: %w", err)
	}
	r, err := parseStat(text)
	if err != nil {
		return r, err
	}
	r.tenants, _, err = tenants.Read()
	return r, err
}

// parseStat parses /proc/stat, of which the lines of the CPUs are used: user, nice, system, idle,
// iowait, irq, softirq and steal. The time of guests is part of user. CPU time that a hypervisor
// gave to others was wanted here, and counts as used.
func parseStat(text []byte) (reading, error) {
	var r reading
	var f []float64
	for line := range bytes.Lines(text) {
		key, rest, _ := bytes.Cut(line, []byte(" "))
		number, is := bytes.CutPrefix(key, []byte("cpu"))
		if !is {
			continue
		}
		if f = parse.Numbers(f[:0], rest); len(f) < 8 {
			continue
		}
		if len(number) > 0 {
			r.cpus++
			continue
		}
		r.busy = f[0] + f[1] + f[2] + f[5] + f[6] + f[7]
		r.total = r.busy + f[3] + f[4]
	}
	if r.cpus == 0 || r.total == 0 {
		return r, errors.New("read the CPU time of this host: /proc/stat has no line of a CPU")
	}
	return r, nil
}

// between are the counters of the interval between two readings. A container counts as a VM
// of one vCPU.
func between(before, after reading) dense.Counters {
	c := dense.Counters{
		CPUs:        after.cpus,
		VMs:         after.tenants.VMs + after.tenants.Containers,
		VCPUs:       after.tenants.VCPUs + after.tenants.Containers,
		Utilization: math.NaN(),
	}
	if total := after.total - before.total; total > 0 {
		c.Utilization = min(1, max(0, (after.busy-before.busy)/total))
	}
	return c
}
