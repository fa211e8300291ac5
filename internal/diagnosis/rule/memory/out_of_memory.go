package memory

import (
	"math"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/cgroup"
)

// outOfMemory finds processes that the kernel killed for lack of memory, of a control group or of
// the host. A service that is started again looks healthy between two kills. A group whose members the
// host's shortage killed looks alike, and did not meet its own limit.
var outOfMemory = diagnosis.Rule{
	Name: "out_of_memory", Area: diagnosis.Memory,
	Doc:      "the OOM killer kills processes",
	Needs:    []string{"vmstat", "memory", "processes"},
	Explains: []string{"memory_limit", "memory_reclaim", "swapping"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for n := range e.Mean.Groups {
			if g := &e.Mean.Groups[n]; exhausted(e, g) && !above(e, g) {
				found = append(found, killedInGroup(e, g)...)
			}
		}
		if len(found) > 0 {
			return found
		}
		return killedOnHost(e)
	},
}

// killLog prints the kernel's reports of its kills, with the control group whose limit was met.
const killLog = "journalctl -k | grep -i -e oom-kill: -e 'out of memory'"

// exhausted reports whether processes of a control group were killed at its own limit.
func exhausted(e *diagnosis.Evidence, g *cgroup.Group) bool {
	met := g.OutOfMemory > 0 || g.Version == 1 && g.LimitHits > 0
	return met && g.Kills > 0 && g.MemoryMax > 0 && (e.Mean.Memory["MemTotal"] == 0 || g.MemoryMax < e.Mean.Memory["MemTotal"])
}

// above reports whether a control group only counts what happened in one below it.
func above(e *diagnosis.Evidence, g *cgroup.Group) bool {
	for n := range e.Mean.Groups {
		if x := &e.Mean.Groups[n]; x.Path != g.Path && inside(x.Path, g.Path) && exhausted(e, x) {
			return true
		}
	}
	return false
}

func killedInGroup(e *diagnosis.Evidence, g *cgroup.Group) []diagnosis.Finding {
	hard := *g
	hard.MemoryLimit, hard.MemoryFile = g.MemoryMax, g.MaxFile
	f := diagnosis.Finding{
		Subject:    "control group " + g.Path,
		Confidence: diagnosis.Certain,
		Impact:     1,
		Says:       "The OOM killer kills processes of control group " + g.Path + ", which is limited to {limit} of memory: {kills} while this was watched.",
		Evidence:   []diagnosis.Fact{diagnosis.Number("kills", math.Round(g.Kills*e.Mean.Seconds)), diagnosis.Bytes("limit", g.MemoryMax), diagnosis.Bytes("used", g.Memory)},
		Change:     raiseLimit(&hard),
	}
	p := victim(e, func(p *diagnosis.Program) bool { return inside(p.Processes[0].MemoryGroup, g.Path) }, resident)
	switch {
	case p != nil:
		f.Subject = p.Subject()
	case len(e.Focus) > 0:
		return nil
	}
	return []diagnosis.Finding{f}
}

// killedOnHost is about kills that no control group which was read explains.
func killedOnHost(e *diagnosis.Evidence) []diagnosis.Finding {
	kills, total := math.Round(e.Mean.VM["oom_kill"]*e.Mean.Seconds), e.Mean.Memory["MemTotal"]
	names, first := largest(e)
	if kills < 1 || total == 0 || first == nil {
		return nil
	}
	available := e.Mean.Memory["MemAvailable"]
	for n := range e.Intervals { // a kill frees memory
		if left, known := e.Intervals[n].Memory["MemAvailable"]; known {
			available = min(available, left)
		}
	}
	f := diagnosis.Finding{
		Confidence: diagnosis.Certain,
		Impact:     1,
		Says:       "The OOM killer killed {kills} " + diagnosis.Plural(kills, "process", "processes") + " while this was watched. As little as {available} of {total} was available; the largest programs are " + names + ".",
		Evidence:   []diagnosis.Fact{diagnosis.Number("kills", kills), diagnosis.Bytes("available", available), diagnosis.Bytes("total", total)},
		Change:     &diagnosis.Change{Says: "add memory to the host, or make " + first.Subject() + " use less", Command: killLog},
	}
	if available > ample*total {
		f.Subject, f.Confidence = "a control group", diagnosis.Likely
		f.Says = "The OOM killer killed {kills} " + diagnosis.Plural(kills, "process", "processes") + " while this was watched, although {available} of {total} or more was available: a control group may have met its limit."
		f.Change.Says = "raise the memory limit of the control group that the log of the kernel names"
	}
	return []diagnosis.Finding{f}
}
