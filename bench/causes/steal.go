package causes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// mostStolen is the largest share of the CPU time asked for, and leastStolen the least number of CPUs, that the hypervisor may
// withhold in a run: a little less than what plimsoll check reports.
const (
	mostStolen  = .04
	leastStolen = .04
)

// cpuTime is what the CPUs of this host did since its start, in ticks.
type cpuTime struct{ busy, steal, all float64 }

// cpuTimeOf, and not plimsoll's own reader, which is what is judged here, reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. The times of guests are part of the first two.
func cpuTimeOf(stat string) (t cpuTime, err error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return t, fmt.Errorf("/proc/stat begins with %q", line)
	}
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return t, fmt.Errorf("read /proc/stat: %w", err)
		}
		t.all += ticks
		switch i {
		case 3, 4:
		case 7:
			t.steal += ticks
		default:
			t.busy += ticks
		}
	}
	return t, nil
}

func readCPUTime() (cpuTime, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTime{}, err
	}
	return cpuTimeOf(string(stat))
}

// withheld says how much CPU time the hypervisor withheld between two readings of a host with so many CPUs, where that is
// more than a run may lack.
func withheld(before, after cpuTime, cpus int) string {
	steal, busy, all := after.steal-before.steal, after.busy-before.busy, after.all-before.all
	stolen := steal / max(all, 1) * float64(cpus)
	if share := steal / max(steal+busy, 1); share >= mostStolen && stolen >= leastStolen {
		return fmt.Sprintf("the hypervisor withheld %.0f %% of the CPU time that the host asked for", 100*share)
	}
	return ""
}
