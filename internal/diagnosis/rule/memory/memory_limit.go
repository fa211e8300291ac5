package memory

import (
	"fmt"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/cgroup"
)

const (
	// nearLimit is the share of a limit that a group at its limit uses.
	nearLimit = 0.9
	// leastRefaults is the rate of pages read again from which a group thrashes where the kernel
	// counts no pressure: at 0.1 ms each, of flash, they cost 1 % of a thread's time.
	leastRefaults = 100
	// perRefault is the least CPU time in which a kernel drops a page and reads it again, in seconds. PostgreSQL spent 27 us in the kernel for
	// each on a virtual disk, its other system calls included.
	perRefault = 1e-5
	// leastReread is the share of a program's CPU time that goes to such pages from which they are why CPUs are busy.
	leastReread = 0.1
)

// memoryLimit finds control groups whose memory limit makes their programs wait. A group that
// fills its limit with cached files looks alike: it meets the limit all the time, but nothing
// that it dropped is read again and nobody waits.
var memoryLimit = diagnosis.Rule{
	Name: "memory_limit", Area: diagnosis.Memory,
	Doc:      "the memory limit of a control group makes its programs wait",
	Needs:    []string{"groups", "processes"},
	Explains: []string{"swapping", "memory_reclaim", "queue_depth_low", "device_ceiling", "disk_neighbour", "page_cache_as_disk", "read_ahead", "hot_thread", "huge_pages", "periodic_stall"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for n := range e.Mean.Groups {
			g := &e.Mean.Groups[n]
			p := victim(e, func(p *diagnosis.Program) bool { return inside(p.Processes[0].MemoryGroup, g.Path) }, fetching)
			if g.MemoryLimit == 0 || g.LimitHits == 0 || p == nil || e.Mean.Memory["MemTotal"] > 0 && g.MemoryLimit >= e.Mean.Memory["MemTotal"] {
				continue
			}
			stall, how := groupStall(e, g, p)
			if stall < leastStall || g.Memory < nearLimit*g.MemoryLimit {
				continue
			}
			var explains []string
			if e.Dominates(p.Busy) && g.Refaults*perRefault >= leastReread*p.Busy {
				explains = []string{"cpu_saturated"}
			}
			found = append(found, diagnosis.Finding{
				Subject:    p.Subject(),
				Confidence: how,
				Explains:   explains,
				Impact:     stall,
				Says:       "{subject} waits {waiting} of the time for memory, because control group " + g.Path + " is limited to {limit}: it met the limit {hits} times per second and reads {refaults} pages per second again that it had to drop.",
				Evidence: []diagnosis.Fact{
					diagnosis.Share("waiting", stall), diagnosis.Bytes("limit", g.MemoryLimit), diagnosis.Bytes("used", g.Memory),
					diagnosis.Number("hits", g.LimitHits), diagnosis.Number("refaults", g.Refaults),
				},
				Change:     raiseLimit(g),
				Prediction: gain(stall, "the time that the group waits for memory"),
			})
		}
		return found
	},
}

// inside reports whether a control group is another one or below it.
func inside(group, above string) bool {
	return group == above || strings.HasPrefix(group, strings.TrimSuffix(above, "/")+"/")
}

// groupStall is the share of time that a group waits for memory: by its own PSI, in version 1 by that
// of the host, and by its program's wait for pages that it had to drop. PSI leaves out pages that
// were not yet known as part of the working set when they were dropped.
func groupStall(e *diagnosis.Evidence, g *cgroup.Group, p *diagnosis.Program) (float64, diagnosis.Confidence) {
	io := p.IO()
	again := 0.
	if g.Refaults+io.MajorFaults >= leastRefaults {
		again = p.Costs(io.Blocked) * min(1, g.Refaults*pageSize()/max(1, io.ReadBytes))
	}
	if g.MemoryPressure.Some > 0 || strings.HasSuffix(g.MemoryFile, "/memory.max") || strings.HasSuffix(g.MemoryFile, "/memory.high") {
		return min(1, max(g.MemoryPressure.Some, again)), diagnosis.Certain
	}
	if g.Refaults+io.MajorFaults < leastRefaults {
		return 0, diagnosis.Likely
	}
	if stall, known := stalled(e.Mean); known {
		return max(stall, again), diagnosis.Certain
	}
	return again, diagnosis.Likely
}

// raiseLimit raises a limit by half, or at once by what the group has in swap.
func raiseLimit(g *cgroup.Group) *diagnosis.Change {
	to := roundUp(g.MemoryLimit + max(g.MemoryLimit/2, g.Swap))
	c := &diagnosis.Change{
		Says:    fmt.Sprintf("raise the memory limit of control group %s from %s to %s, or make its programs use less", g.Path, gib(g.MemoryLimit), gib(to)),
		Command: fmt.Sprintf("echo %.0f > %s", to, g.MemoryFile),
	}
	name, property := g.MemoryFile[strings.LastIndexByte(g.MemoryFile, '/')+1:], "MemoryMax"
	if name == "memory.high" {
		property = "MemoryHigh"
	}
	if name == "memory.limit_in_bytes" {
		property = "MemoryLimit"
	}
	if unit, ok := diagnosis.SystemdUnit(g.Path); ok && strings.HasSuffix(g.Path, unit) {
		c.Command = fmt.Sprintf("systemctl set-property --runtime %s %s=%.0f", unit, property, to)
	}
	return c
}
