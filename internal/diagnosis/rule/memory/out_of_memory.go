package memory

import (
	"math"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/cgroup"
)

// outOfMemory finds processes that the kernel killed for lack of memory, of a control group or of
// the host. A service that is started again looks healthy between two kills.
var outOfMemory = diagnosis.Rule{
	Name: "out_of_memory", Area: diagnosis.Memory,
	Doc:      "the kernel kills processes because memory has run out",
	Needs:    []string{"vmstat", "memory", "processes"},
	Explains: []string{"memory_limit", "memory_reclaim", "swapping", "periodic_stall", "short_lived_processes", "connection_limit"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		if g := killed(e); g != nil {
			return []diagnosis.Finding{killedInGroup(e, g)}
		}
		kills := math.Round(e.Mean.VM["oom_kill"] * e.Mean.Seconds)
		available, total := e.Mean.Memory["MemAvailable"], e.Mean.Memory["MemTotal"]
		if kills < 1 || total == 0 {
			return nil
		}
		names, first := largest(e)
		if first == nil {
			return nil
		}
		f := diagnosis.Finding{
			Confidence: diagnosis.Certain,
			Impact:     1,
			Says:       "The kernel killed {kills} " + diagnosis.Plural(kills, "process", "processes") + " for lack of memory while this was watched. {available} of {total} are available; the largest programs are " + names + ".",
			Evidence:   []diagnosis.Fact{diagnosis.Number("kills", kills), diagnosis.Bytes("available", available), diagnosis.Bytes("total", total)},
			Change:     &diagnosis.Change{Says: "add memory to the host, or make " + first.Subject() + " use less", Command: killLog},
		}
		if available > ample*total { // of a control group that has ended with its processes
			f.Says = "The kernel killed {kills} " + diagnosis.Plural(kills, "process", "processes") + " for lack of memory while this was watched, although {available} of {total} are available: a control group is at its limit."
			f.Change.Says = "raise the memory limit of the control group that the log of the kernel names"
		}
		return []diagnosis.Finding{f}
	},
}

// killLog prints the kernel's reports of its kills.
const killLog = "journalctl -k | grep -i -A 1 'out of memory'"

// killed is the innermost control group with a limit in which processes were killed; nil if there is
// none. In version 2 the groups above count its kills as well.
func killed(e *diagnosis.Evidence) (inner *cgroup.Group) {
	for n := range e.Mean.Groups {
		g := &e.Mean.Groups[n]
		whole := e.Mean.Memory["MemTotal"] > 0 && g.MemoryLimit >= e.Mean.Memory["MemTotal"]
		if g.Kills == 0 || g.MemoryLimit == 0 || whole || inner != nil && !strings.HasPrefix(g.Path, inner.Path) {
			continue
		}
		inner = g
	}
	return inner
}

func killedInGroup(e *diagnosis.Evidence, g *cgroup.Group) diagnosis.Finding {
	kills := math.Round(g.Kills * e.Mean.Seconds)
	f := diagnosis.Finding{
		Subject:    "control group " + g.Path,
		Confidence: diagnosis.Certain,
		Impact:     1,
		Says:       "The kernel kills processes of control group " + g.Path + ", which is limited to {limit} of memory: {kills} while this was watched.",
		Evidence:   []diagnosis.Fact{diagnosis.Number("kills", kills), diagnosis.Bytes("limit", g.MemoryLimit), diagnosis.Bytes("used", g.Memory)},
		Change:     raiseLimit(g),
	}
	if p := victim(e, func(p *diagnosis.Program) bool { return inside(p.Processes[0].MemoryGroup, g.Path) }, resident); p != nil {
		f.Subject = p.Subject()
	}
	return f
}
