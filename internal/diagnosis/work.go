package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
)

const (
	// Full is the CPU time per second that a thread at its limit uses or waits for.
	Full = 0.95
	// idleRoom is the number of idle CPUs that could have run more threads, and idleShare their share of a host with few CPUs.
	idleRoom, idleShare = 0.5, 0.15
	// KernelWork is the least share of system time of a thread that does I/O or communicates.
	KernelWork = 0.05
	// computing is the rate of voluntary switches per second of CPU time below which a program
	// computes: a service sleeps after each request or batch, many times in a scheduler's slice.
	computing = 100.
	// serving is the rate above which a program serves: it works less than 5 ms between sleeps.
	serving = 200.
	// phases is the rate below which threads that meet after short phases compute.
	phases = 1000.
	// mostAwake is the share of a program's CPU time that threads use which never sleep.
	mostAwake = 0.9
)

// Threads are the threads of a program, the busiest first.
func (p *Program) Threads() (all []hoststat.Thread) {
	for _, one := range p.Processes {
		all = append(all, one.Tasks...)
	}
	slices.SortFunc(all, func(a, b hoststat.Thread) int { return cmp.Compare(b.Busy(), a.Busy()) })
	return all
}

// Switches are the context switches of a program per second.
func (p *Program) Switches() (voluntary, involuntary float64) {
	for _, one := range p.Processes {
		voluntary += one.Voluntary
		involuntary += one.Involuntary
	}
	return voluntary, involuntary
}

// SystemShare is the share of system time in the CPU time of a program.
func (p *Program) SystemShare() float64 {
	system := 0.
	for _, one := range p.Processes {
		system += one.System
	}
	return system / max(p.Busy, 1e-9)
}

// Computes reports whether a program computes without waiting for anything but itself. It hardly sleeps, or threads that do not sleep use
// nearly all of its CPU time: those of a runtime sleep beside them. Or it exchanges no messages and hardly enters the kernel: threads that
// meet at barriers, or that a runtime replaces by one another, sleep as often as those of a service.
func (e *Evidence) Computes(p *Program) bool {
	system := p.SystemShare()
	if system >= 2*KernelWork {
		return false
	}
	voluntary, _ := p.Switches()
	return voluntary < computing*p.Busy || p.awake() || system < KernelWork && voluntary < phases*p.Busy && len(e.Flows(p)) == 0
}

// Serves reports whether a program works in short pieces, with sleeps between them.
func (p *Program) Serves() bool {
	voluntary, _ := p.Switches()
	return voluntary >= serving*p.Busy && !p.awake()
}

// awake reports whether threads that do not sleep use nearly all CPU time of a program.
func (p *Program) awake() bool {
	busy := 0.
	for _, t := range p.Threads() {
		if awake := t.Busy() + t.RunDelay; awake >= Full && t.Voluntary < computing*awake {
			busy += t.Busy()
		}
	}
	return busy >= mostAwake*p.Busy
}

// Helper reports whether a program is threads of the kernel whose work other rules judge.
func (p *Program) Helper() bool {
	names := []string{"ksoftirqd/", "kswapd", "kcompactd", "migration/", "rcu", "kworker/", "khugepaged", "ksmd", "cpuhp/"}
	return slices.ContainsFunc(names, func(prefix string) bool { return strings.HasPrefix(p.Name, prefix) })
}

// IdleRoom is the least number of idle CPUs with which more threads would have run.
func (e *Evidence) IdleRoom() float64 { return min(idleRoom, idleShare*e.Online()) }

// Dominates reports whether CPUs are so many of the host's that what they do is why it is busy.
func (e *Evidence) Dominates(cpus float64) bool { return cpus >= e.Online()/3 }

// Plural is a noun in the form for a number.
func Plural(n float64, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
