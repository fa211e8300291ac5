package reflector

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
)

// usage is the resource usage up to some time.
type usage struct {
	cpu     time.Duration // of this process
	machine peer.Machine  // since boot
	known   bool          // the machine reports it
}

func now() usage {
	u := usage{cpu: load.ProcessCPU()}
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		u.machine, u.known = parseStat(text)
	}
	return u
}

// since adds the usage between two readings to a report.
func (u usage) since(before usage, into *peer.Report) {
	into.CPU = u.cpu - before.cpu
	if u.known && before.known {
		into.Machine = &peer.Machine{
			Busy:       max(0, u.machine.Busy-before.machine.Busy),
			Interrupts: max(0, u.machine.Interrupts-before.machine.Interrupts),
			SoftIRQs:   max(0, u.machine.SoftIRQs-before.machine.SoftIRQs),
		}
	}
}

// jiffy is the unit of CPU time in /proc/stat: USER_HZ, 100 on every architecture
// that Go runs on.
const jiffy = 10 * time.Millisecond

// parseStat parses /proc/stat. Busy is all time but idle, iowait and stolen; guest time is
// included in user time.
func parseStat(text []byte) (m peer.Machine, ok bool) {
	found := 0
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		number := func(i int) int64 {
			if i >= len(f) {
				return 0
			}
			n, err := strconv.ParseInt(string(f[i]), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
		switch string(f[0]) {
		case "cpu": // user nice system idle iowait irq softirq steal
			m.Busy = time.Duration(number(1)+number(2)+number(3)+number(6)+number(7)) * jiffy
			found++
		case "intr":
			m.Interrupts = number(1)
			found++
		case "softirq":
			m.SoftIRQs = number(1)
			found++
		}
	}
	return m, found == 3
}
