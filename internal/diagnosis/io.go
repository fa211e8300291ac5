package diagnosis

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
)

// IO is the reading and writing of a program, and what its threads wait for.
type IO struct {
	ReadChars, ReadCalls, ReadBytes    float64 // read calls per second with their bytes, and bytes from block devices
	WriteChars, WriteCalls, WriteBytes float64
	MajorFaults                        float64
	Blocked                            float64        // threads that wait for I/O
	Waits                              hoststat.Waits // threads that sleep, by kernel function
}

// IO is the sum over the processes of a program.
func (p *Program) IO() IO {
	sum := IO{Waits: hoststat.Waits{}}
	for _, one := range p.Processes {
		sum.ReadChars += one.ReadChars
		sum.ReadCalls += one.ReadCalls
		sum.ReadBytes += one.ReadBytes
		sum.WriteChars += one.WriteChars
		sum.WriteCalls += one.WriteCalls
		sum.WriteBytes += one.WriteBytes
		sum.MajorFaults += one.Major
		// Delay accounting is exact, but it covers the main thread only and is off by default.
		sum.Blocked += max(one.Blocked, one.BlockIO)
		for function, threads := range one.Waits {
			sum.Waits[function] += threads
		}
	}
	return sum
}

// Bytes are those that it reads from and writes to block devices.
func (i *IO) Bytes() float64 { return i.ReadBytes + i.WriteBytes }

// In is the number of threads that sleep in any of some kernel functions, given by the
// beginnings of their names.
func (i *IO) In(functions ...string) float64 {
	n := 0.
	for function, threads := range i.Waits {
		if slices.ContainsFunc(functions, func(f string) bool { return strings.HasPrefix(function, f) }) {
			n += threads
		}
	}
	return n
}

// Costs is the share of a program's time that a wait of some of its threads costs: of the time
// that threads run or want to, and not above the time in which one waits at all.
func (p *Program) Costs(waiting float64) float64 {
	if waiting <= 0 {
		return 0
	}
	return min(1, waiting, waiting/(waiting+p.Busy+p.RunDelay))
}

// Kernel reports whether a program is threads of the kernel.
func (p *Program) Kernel() bool {
	const kthreadd = 2
	return p.Processes[0].Parent == kthreadd || p.Processes[0].PID == kthreadd
}

// Services are the programs of the user side, in order of CPU time used.
func (e *Evidence) Services() []*Program {
	return slices.DeleteFunc(e.Programs(), (*Program).Kernel)
}

// By sorts programs by a falling number.
func By(programs []*Program, number func(*Program) float64) []*Program {
	sorted := slices.Clone(programs)
	slices.SortStableFunc(sorted, func(a, b *Program) int { return cmp.Compare(number(b), number(a)) })
	return sorted
}

// Times is the share of the intervals for which a condition holds.
func (e *Evidence) Times(holds func(i *hoststat.Interval) bool) float64 {
	n := 0.
	for k := range e.Intervals {
		if holds(&e.Intervals[k]) {
			n++
		}
	}
	return n / max(1, float64(len(e.Intervals)))
}

// Setting is a setting of the host as in Facts.Settings; of a list such as "none [bfq]" it is
// the one chosen.
func (e *Evidence) Setting(name string) string {
	value := e.Facts.Settings[name]
	if _, chosen, found := strings.Cut(value, "["); found {
		chosen, _, _ = strings.Cut(chosen, "]")
		return chosen
	}
	return value
}

// SystemdUnit is the unit that a control group belongs to.
func SystemdUnit(group string) (string, bool) {
	for at := group; at != "/" && at != "." && at != ""; at = path.Dir(at) {
		if unit := path.Base(at); strings.HasSuffix(unit, ".service") || strings.HasSuffix(unit, ".scope") {
			return unit, true
		}
	}
	return "", false
}
