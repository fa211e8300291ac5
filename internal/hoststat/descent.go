package hoststat

import (
	"path"
	"strconv"
	"strings"
)

// labOrigin is the origin of the reader's parent itself.
const labOrigin = "(lab)"

// origins marks the descendants of the reader's parent process with the command line of the
// process that it started.
func (r *Reader) origins(s *State) {
	if r.Parent == 0 {
		return
	}
	at := make(map[int]*Process, len(s.Processes))
	for n := range s.Processes {
		at[s.Processes[n].PID] = &s.Processes[n]
	}
	heads := make(map[int]*Process, len(s.Processes)) // by PID; nil: no descendant
	var head func(p *Process) *Process
	head = func(p *Process) *Process {
		if known, done := heads[p.PID]; done {
			return known
		}
		heads[p.PID] = nil // readings of a changing tree may have a loop
		if p.Parent == r.Parent {
			heads[p.PID] = p
		} else if above := at[p.Parent]; above != nil {
			heads[p.PID] = head(above)
		}
		return heads[p.PID]
	}
	if lab := at[r.Parent]; lab != nil {
		lab.Origin = labOrigin
	}
	for n := range s.Processes {
		if of := head(&s.Processes[n]); of != nil {
			s.Processes[n].Origin = r.command(of, "proc/"+strconv.Itoa(of.PID)+"/")
		}
	}
}

// Part is the part of a process in a study.
type Part string

// FollowCommand is the argument of plimsoll and plimsoll-agent that follows the host for a lab:
// see package trace.
const FollowCommand = "follow-host"

// The parts.
const (
	Service   Part = "service"
	Generator Part = "generator"
	Lab       Part = "lab"    // plimsoll itself and its agents
	Other     Part = "others" // programs that have nothing to do with the study
)

// Part is the part of a process in a study with or without a service, if the reader's parent is
// the lab or an agent.
func (p *Process) Part(served bool) Part {
	words := strings.Fields(p.Origin)
	switch {
	case strings.HasPrefix(p.Name, "plimsoll") && len(words) == 0:
		return Lab
	case len(words) == 0:
		return Other
	case p.Origin == labOrigin:
		return Lab
	case len(words) == 2 && words[1] == "worker":
		return Generator
	case len(words) == 2 && words[1] == FollowCommand:
		return Lab
	case !served, path.Base(words[0]) == "fio":
		return Generator
	}
	return Service
}
