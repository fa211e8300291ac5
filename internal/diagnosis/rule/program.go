package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// computing is the rate of voluntary switches per second of CPU time below which a program
	// computes: a service sleeps after each request or batch, many times in a scheduler's slice.
	computing = 100.
	// serving is the rate above which a program serves: it works less than 5 ms between sleeps.
	serving = 200.
	// kernelWork is the least share of system time of a thread that does I/O or communicates.
	kernelWork = 0.05
	// mostAwake is the share of a program's CPU time that threads use which never sleep.
	mostAwake = 0.9
	// mostSerial is the CPU time per second of threads that run one at a time, with the error of
	// the readings.
	mostSerial = 1.1
)

// switches are the context switches of a program per second.
func switches(p *diagnosis.Program) (voluntary, involuntary float64) {
	for _, one := range p.Processes {
		voluntary += one.Voluntary
		involuntary += one.Involuntary
	}
	return voluntary, involuntary
}

// computes reports whether a program computes without waiting for anything: it hardly sleeps, or
// threads that do not sleep use nearly all of its CPU time. Those of a runtime sleep beside them.
func computes(p *diagnosis.Program) bool {
	if systemShare(p) >= 2*kernelWork {
		return false
	}
	voluntary, _ := switches(p)
	return voluntary < computing*p.Busy || awake(p)
}

// awake reports whether threads that do not sleep use nearly all CPU time of a program.
func awake(p *diagnosis.Program) bool {
	busy := 0.
	for _, t := range threads(p) {
		if t.Busy()+t.RunDelay >= hot && t.Voluntary < computing*t.Busy() {
			busy += t.Busy()
		}
	}
	return busy >= mostAwake*p.Busy
}

// serial reports whether the threads of a process use one CPU together, and never more: its
// runtime or a lock lets one of them run at a time.
func serial(e *diagnosis.Evidence, p *hoststat.Process) bool {
	if steady := p.Busy() + p.RunDelay; steady < hot || steady > 2-hot {
		return false
	}
	seen, one := 0, 0
	for i := range e.Intervals {
		for n := range e.Intervals[i].Processes {
			if q := &e.Intervals[i].Processes[n]; q.PID == p.PID {
				seen++
				if q.Busy() <= mostSerial {
					one++
				}
				break
			}
		}
	}
	return seen > 0 && one == seen
}

// serves reports whether a program works in short pieces, with sleeps between them.
func serves(p *diagnosis.Program) bool {
	voluntary, _ := switches(p)
	return voluntary >= serving*p.Busy && !awake(p)
}

// systemShare is the share of system time in the CPU time of a program.
func systemShare(p *diagnosis.Program) float64 {
	system := 0.
	for _, one := range p.Processes {
		system += one.System
	}
	return system / max(p.Busy, 1e-9)
}

// threads are the threads of a program, the busiest first.
func threads(p *diagnosis.Program) (all []hoststat.Thread) {
	for _, one := range p.Processes {
		all = append(all, one.Tasks...)
	}
	slices.SortFunc(all, func(a, b hoststat.Thread) int { return cmp.Compare(b.Busy(), a.Busy()) })
	return all
}

// atLimit reports whether a thread runs, or is about to, nearly all the time.
func atLimit(t *hoststat.Thread) bool {
	return t.Busy() >= leastHot && t.Busy()+t.RunDelay >= hot
}

// kernelHelper reports whether a process is a thread of the kernel whose work other rules judge.
func kernelHelper(name string) bool {
	return slices.ContainsFunc([]string{"ksoftirqd/", "kswapd", "kcompactd", "migration/", "rcu", "kworker/", "khugepaged", "ksmd", "cpuhp/"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// busiest says which programs use the CPUs: "nginx (12) 2.1, postgres (34) 1.2".
func busiest(e *diagnosis.Evidence, most int) (names []string, facts []diagnosis.Fact) {
	for _, p := range e.Programs() {
		if len(names) == most || p.Busy < 0.05*e.Online() {
			break
		}
		id := fmt.Sprintf("used by program %d", len(names)+1)
		names = append(names, p.Subject()+" {"+id+"}")
		facts = append(facts, diagnosis.Number(id, p.Busy))
	}
	return names, facts
}

// plural is a noun in the form for a number.
func plural(n float64, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// cpuMask is a mask of CPUs as /proc/irq and sysfs take it: groups of 32 bits in hexadecimal.
func cpuMask(cpus []int) string {
	if len(cpus) == 0 {
		return "0"
	}
	words := make([]uint32, slices.Max(cpus)/32+1)
	for _, n := range cpus {
		words[n/32] |= 1 << (n % 32)
	}
	text := make([]string, len(words))
	for i, w := range words {
		text[len(words)-1-i] = fmt.Sprintf("%08x", w)
	}
	text[0] = strconv.FormatUint(uint64(words[len(words)-1]), 16)
	return strings.Join(text, ",")
}

// cpuList is a list of CPUs such as 0-3,8.
func cpuList(cpus []int) string {
	var ranges []string
	for at := 0; at < len(cpus); {
		end := at
		for end+1 < len(cpus) && cpus[end+1] == cpus[end]+1 {
			end++
		}
		if end == at {
			ranges = append(ranges, strconv.Itoa(cpus[at]))
		} else {
			ranges = append(ranges, fmt.Sprintf("%d-%d", cpus[at], cpus[end]))
		}
		at = end + 1
	}
	return strings.Join(ranges, ",")
}

// onlineCPUs are the numbers of the CPUs online.
func onlineCPUs(e *diagnosis.Evidence) (cpus []int) {
	for n, c := range e.Facts.CPUs {
		if c.Online {
			cpus = append(cpus, n)
		}
	}
	return cpus
}

// sum adds up counts per CPU.
func sum(counts []float64) (total float64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// used is the CPU time of the host in CPUs, without steal.
func used(i *hoststat.Interval) (busy float64) {
	for _, c := range i.CPUs {
		busy += c.Busy()
	}
	return busy
}
