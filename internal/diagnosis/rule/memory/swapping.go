package memory

import (
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
)

const (
	// leastSwapIn is the rate of pages from which reading them back matters: at 0.1 ms
	// each, of flash, they cost 1 % of a thread's time.
	leastSwapIn = 100
	// fetches is the rate of such pages from which a program that is mostly in the kernel does little else. Swap in
	// compressed memory makes nobody wait: its pages cost CPU time.
	fetches, inKernel = 1000, 0.5
	// ample is the share of memory that is available although the host swaps.
	ample = 0.25
	// calm is a swappiness that prefers to drop cached files.
	calm = 10
)

// swapping finds programs that wait for pages in swap. Pages that were swapped out long ago and
// are not used look alike: nothing reads them back. Neither is writing cold pages out one.
var swapping = diagnosis.Rule{
	Name: "swapping", Area: diagnosis.Memory,
	Doc:      "programs wait for memory that was swapped out",
	Needs:    []string{"vmstat", "memory", "processes"},
	Explains: []string{"memory_reclaim", "device_ceiling", "disk_neighbour", "queue_depth_low", "hot_thread", "huge_pages"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		in := e.Mean.VM["pswpin"] + e.Mean.VM["zswpin"]
		stall, known := stalled(e.Mean)
		if !known {
			stall = min(1, in*swapLatency(e))
		}
		p := victim(e, anyProgram, faults)
		if in < leastSwapIn || p == nil || stall < leastStall && !unpacks(p) {
			return nil
		}
		swapped := 0.
		for _, one := range p.Processes {
			swapped += one.Swap
		}
		f := diagnosis.Finding{
			Subject:    p.Subject(),
			Confidence: diagnosis.Certain,
			Impact:     stall,
			Says:       "{subject} waits for memory in swap: {pages read back} pages are read back per second, and tasks wait for memory {waiting} of the time.",
			Evidence: []diagnosis.Fact{
				diagnosis.Number("pages read back", in), diagnosis.Number("pages swapped out", e.Mean.VM["pswpout"]),
				diagnosis.Share("waiting", stall), diagnosis.Bytes("swapped", swapped), diagnosis.Bytes("available", e.Mean.Memory["MemAvailable"]),
			},
			Change:     swapChange(e, p),
			Prediction: gain(stall, "the time that tasks wait for memory"),
		}
		if stall < leastStall {
			kernel := p.SystemShare()
			f.Impact, f.Confidence, f.Prediction = kernel, diagnosis.Likely, gain(kernel, "the CPU time in the kernel")
			f.Says = "{subject} swaps in {pages read back} pages per second and spends {kernel} of its CPU time in the kernel."
			f.Evidence = append(f.Evidence, diagnosis.Share("kernel", kernel))
		}
		return []diagnosis.Finding{f}
	},
}

// unpacks reports whether a program spends most of its CPU time on pages that it reads back.
func unpacks(p *diagnosis.Program) bool { return faults(p) >= fetches && p.SystemShare() >= inKernel }

// swapChange is to raise the limit of a control group that swaps because of it, to keep cached files
// less eagerly where memory is available, and else to need less memory or to have more.
func swapChange(e *diagnosis.Evidence, p *diagnosis.Program) *diagnosis.Change {
	for n := range e.Mean.Groups {
		g := &e.Mean.Groups[n]
		if g.MemoryLimit > 0 && g.LimitHits > 0 && g.Memory >= nearLimit*g.MemoryLimit && inside(p.Processes[0].MemoryGroup, g.Path) {
			return raiseLimit(g)
		}
	}
	swappiness, err := strconv.Atoi(e.Setting("proc/sys/vm/swappiness"))
	if err == nil && swappiness > calm && e.Mean.Memory["MemAvailable"] > ample*e.Mean.Memory["MemTotal"] {
		return &diagnosis.Change{Says: "swap less eagerly: memory is available, but vm.swappiness is " + strconv.Itoa(swappiness), Command: "sysctl vm.swappiness=" + strconv.Itoa(calm)}
	}
	names, _ := largest(e)
	return &diagnosis.Change{Says: "add memory to the host, or make its programs use less: the largest are " + names}
}

// swapLatency is the mean time to read from a swap device that is in use; 0.1 ms, that of flash,
// if none was.
func swapLatency(e *diagnosis.Evidence) float64 {
	latency := 0.0001
	for i := range e.Mean.Disks {
		d := &e.Mean.Disks[i]
		if d.Reads > 0 && (strings.HasPrefix(d.Name, "zram") || readsSwap(e, d)) {
			latency = d.ReadTime / d.Reads
		}
	}
	return latency
}

// readsSwap reports whether most of what a disk reads is swap.
func readsSwap(e *diagnosis.Evidence, d *hoststat.Disk) bool {
	return e.Mean.VM["pswpin"]*pageSize() > 0.5*d.ReadBytes
}
